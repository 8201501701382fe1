/** What a person sees of the configuration: refusals and `millrace doctor`. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { aFolder, runCli } from "../support/start-cli.ts";

vi.setConfig({ testTimeout: 300_000 });

test.each([
  {
    mistake: "an unknown key in the environment",
    env: { MILLRACE_PROT: "4201" },
    says: /^millrace: Unknown configuration key 'MILLRACE_PROT' in the environment\. Did you mean MILLRACE_PORT\? .*\n$/,
  },
  {
    mistake: "an unknown key in the file",
    file: { Http: { BodyLimitByte: 5000 } },
    says: /^millrace: Unknown configuration key 'Http\.BodyLimitByte' in the file 'millrace\.config\.json'\. Did you mean Http\.BodyLimitBytes\? .*\n$/,
  },
  {
    mistake: "a malformed value",
    env: { Log__Level: "loud" },
    says: /^millrace: Log\.Level in the environment variable Log__Level is 'loud'; allowed: fatal, error, .*\n$/,
  },
  {
    mistake: "a malformed DATABASE_URL",
    env: { DATABASE_URL: "postgres://me:hunter2@:bad/x" },
    says: /^millrace: Database\.Url in the environment variable DATABASE_URL is malformed; allowed: postgres:\/\/user:password@host.*\n$/,
  },
])("a start with $mistake is refused with one message", async ({ env, file, says }) => {
  const cwd = await aFolder();
  if (file !== undefined) await writeFile(join(cwd, "millrace.config.json"), JSON.stringify(file));

  const { code, stdout, stderr } = await runCli(["start"], { cwd, ...(env && { env }) });

  expect(stderr).toMatch(says);
  expect(stdout).toBe("");
  expect(code).toBe(1);
});

test("doctor prints every setting with its source, and no password", async () => {
  const cwd = await aFolder();
  const file = join(cwd, "settings.json");
  await writeFile(file, JSON.stringify({ Log: { Level: "warn" } }));
  const env = { DATABASE_URL: "postgres://me:hunter2@db.example/mill?sslmode=require" };
  const args = ["doctor", "--config", file, "--port", "5001"];

  const text = await runCli(args, { cwd, env });
  const json = await runCli([...args, "--json"], { cwd, env });

  expect(text).toMatchObject({ code: 0, stderr: "" });
  const shown = "postgres://me:***@db.example/mill?sslmode=require";
  const has = (line: string) => expect(text.stdout.replaceAll(/ +/g, " ")).toContain(line);
  has(`Database.Url ${shown} [environment]`);
  has("Log.Level warn [file]");
  has("Server.Port 5001 [flag]");
  has("Server.InitPort 3005 [default]");
  has("Server.Host (empty) [default]");
  has("callers: identity headers, believed from loopback, private");
  const { settings } = JSON.parse(json.stdout) as { settings: object[] };
  expect(settings).toContainEqual(
    expect.objectContaining({ name: "Database.Url", value: shown, source: "environment" }),
  );
  expect(text.stdout + json.stdout).not.toContain("hunter2");
});
