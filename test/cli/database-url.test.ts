/** Starts on a PostgreSQL server of somebody else's: absent, unwilling, shared. */
import { join } from "node:path";
import { Client } from "pg";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { startEmbeddedPostgres } from "../../src/storage/embedded/embedded-postgres.ts";
import { migrationFiles } from "../../src/storage/postgres/migrate.ts";
import { aDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import {
  aFolder,
  anyPorts,
  listeningAt,
  runCli,
  running,
  startCli,
  startService,
} from "../support/start-cli.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const definitionPath = "/api/v1/loans/workflows/sys-flows/instances/loan-application";

test("a database that does not answer is waited for: alive, not ready, 503, then ready by itself", async () => {
  const cwd = await aFolder();
  const dataDir = join(cwd, "elsewhere");
  const before = await startEmbeddedPostgres({ dataDir, fsync: false });
  const { url: databaseUrl, port } = before;
  await before.stop();
  const cli = startCli(["start", ...anyPorts], { cwd, env: { DATABASE_URL: databaseUrl } });
  const url = await listeningAt(cli);

  const live = await fetch(`${url}/live`);
  const ready = await fetch(`${url}/ready`);
  const refused = await fetch(url + definitionPath);
  await eventually(() => expect(cli.stdout()).toMatch(/ECONNREFUSED.*"DatabaseDoesNotAnswer"/));
  expect(cli.stdout()).not.toContain("Millrace is running");
  const database = await startEmbeddedPostgres({ dataDir, fsync: false, port });
  onTestFinished(() => database.stop());
  await running(cli);

  expect(live.status).toBe(200);
  expect(ready.status).toBe(503);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(await refused.json()).toMatchObject({ status: 503, errorCode: "transient.Http:503001" });
  await eventually(async () => expect((await fetch(`${url}/ready`)).status).toBe(200));
  // The sample is for those who have no database of their own.
  expect((await fetch(url + definitionPath)).status).toBe(404);
  expect(cli.stdout() + cli.stderr()).not.toContain(new URL(databaseUrl).password);
});

test("a start that waits for its database can be stopped", async () => {
  const cwd = await aFolder();
  const cli = startCli(["start", ...anyPorts], {
    cwd,
    env: { DATABASE_URL: "postgres://nobody:secret@127.0.0.1:1/none" },
  });
  await eventually(() => expect(cli.stdout()).toContain("DatabaseDoesNotAnswer"));

  cli.kill("SIGTERM");

  expect(await cli.exited).toEqual({ code: 0, signal: null });
  expect(cli.stderr()).toBe("");
});

test("a login that the database refuses is one clear message without the password", async () => {
  const cwd = await aFolder();
  const url = new URL(inject("postgresUrl"));
  url.password = "not-the-password";

  const { code, stdout, stderr } = await runCli(["start", ...anyPorts], {
    cwd,
    env: { DATABASE_URL: url.href },
  });

  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^millrace: The database refuses the login of DATABASE_URL \(password authentication failed for user "millrace"\).*\n$/,
  );
  expect(stdout + stderr).not.toContain("not-the-password");
});

test("two nodes that start at once on an empty database both come up and see each other's components", async () => {
  const cwd = await aFolder();
  const env = { DATABASE_URL: await aDatabase({ empty: true }), MILLRACE_SAMPLES: "on" };

  const [first, second] = await Promise.all([
    startService([], { cwd, env }),
    startService([], { cwd, env }),
  ]);

  for (const node of [first, second]) {
    expect((await fetch(node.runtimeUrl + definitionPath)).status).toBe(200);
    expect(node.stderr()).toBe("");
  }
  const applied = () =>
    [first, second].flatMap((node) =>
      [...node.stdout().matchAll(/"applied":(\[.*?\])/g)].flatMap(
        ([, names = "[]"]) => JSON.parse(names) as string[],
      ),
    );
  // The log is written behind the back of the greeting.
  await eventually(() => expect(applied()).toEqual(migrationFiles()));
});

test("migrate brings the database up to date, says what it did, and has nothing to do the second time", async () => {
  const cwd = await aFolder();
  const env = { DATABASE_URL: await aDatabase({ empty: true }) };

  const first = await runCli(["migrate"], { cwd, env });
  const second = await runCli(["migrate"], { cwd, env });
  const without = await runCli(["migrate"], { cwd });
  const away = await runCli(["migrate"], {
    cwd,
    env: { DATABASE_URL: "postgres://nobody:secret@127.0.0.1:1/none" },
  });

  expect(first).toMatchObject({ code: 0, stderr: "" });
  expect(first.stdout).toMatch(/^PostgreSQL \d+\S*: applied 0001-components\.sql, .*\n$/);
  expect(second.stdout).toMatch(/^PostgreSQL \d+\S*: nothing to do\n$/);
  const client = new Client(env.DATABASE_URL);
  await client.connect();
  const { rows } = await client.query("select name from migration order by name");
  await client.end();
  expect(rows.map(({ name }: { name: string }) => name)).toEqual(migrationFiles());
  expect(without.code).toBe(1);
  expect(without.stderr).toMatch(/^millrace: There is nothing to migrate: DATABASE_URL is empty/);
  expect(away.code).toBe(1);
  expect(away.stderr).toMatch(/^millrace: The database of DATABASE_URL does not answer \(.*\n$/);
});
