import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { readComponentFiles, readPackageConfig } from "../src/deploy/package-folder.ts";
import { instancesOf } from "./support/instances-of.ts";
import { publishPath, startRuntime, startRuntimeForFile } from "./support/start-runtime.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const folderOf = (name: string) => join(root, "examples", name);
const packages = readdirSync(join(root, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(packages)("examples/%s is published without a warning", async (name) => {
  const app = await startRuntime();
  const path = folderOf(name);
  const files = await readComponentFiles(path, await readPackageConfig(path));

  expect(files).not.toEqual([]);
  for (const file of files) {
    for (const component of file.components) {
      const { status, body } = await app.post(publishPath, component);
      expect([file.path, status, body]).toMatchObject([file.path, 200, { warnings: [] }]);
    }
  }
});

interface Embedding {
  embed(text: string, folder: string): string;
  componentFilesBelow(folder: string): string[];
}

test.each(packages)("the components of examples/%s carry the scripts of its src/", async (name) => {
  const script = new URL("../scripts/embed-scripts.mjs", import.meta.url);
  const { embed, componentFilesBelow } = (await import(script.href)) as Embedding;

  for (const file of componentFilesBelow(folderOf(name))) {
    const text = readFileSync(file, "utf8");
    expect(embed(text, folderOf(name))).toBe(text);
  }
});

test.each(packages)("the scripts of examples/%s fit the typings of millrace/script", (name) => {
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const typings = mkdtempSync(join(cache, "typings-examples-"));
  onTestFinished(() => rmSync(typings, { recursive: true, force: true }));
  execFileSync(process.execPath, [join(root, "scripts/generate-script-typings.mjs"), typings]);
  const own = join(folderOf(name), "tsconfig.json");
  const { compilerOptions } = JSON.parse(readFileSync(own, "utf8")) as {
    compilerOptions: { paths: Record<string, string[]> };
  };
  const here = Object.entries(compilerOptions.paths).map(([module, paths]) => [
    module,
    paths.map((path) => join(folderOf(name), path)),
  ]);
  const paths = {
    ...(Object.fromEntries(here) as Record<string, string[]>),
    "millrace/script": [join(typings, "script.d.ts")],
  };
  const config = join(typings, "tsconfig.json");
  const include = [join(folderOf(name), "src")];
  writeFileSync(config, JSON.stringify({ extends: own, compilerOptions: { paths }, include }));

  expect(complaintsOf(config)).toBe("");
});

function complaintsOf(config: string): string {
  const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
  const { bin } = JSON.parse(readFileSync(typescript, "utf8")) as { bin: { tsc: string } };
  try {
    execFileSync(process.execPath, [join(dirname(typescript), bin.tsc), "-p", config]);
    return "";
  } catch (error) {
    return String((error as { stdout: Buffer }).stdout);
  }
}

describe("the loans", async () => {
  const app = await startRuntimeForFile({ settings: { "Runtime.Samples": "on" } });
  const loans = instancesOf(app, "loan-application", "loans");
  const apply = (amount: number) =>
    loans.begin({ attributes: { amount, currency: "try", applicant: { name: " Ada " } } });

  test("an application is stored as its start mapping makes it", async () => {
    const id = await apply(5000.005);

    expect((await loans.read(id)).attributes).toEqual({
      amount: 5000.01,
      currency: "TRY",
      applicant: { name: "Ada" },
    });
  });

  test.each([
    [1000, 12, "approved", "approve-small"],
    [3000, 24, "approved", "approve-good-score"],
    [5000, 24, "review", "ask-a-person"],
  ])("%i for %i months is scored and goes to %s", async (amount, termMonths, state, by) => {
    const id = await apply(amount);

    await loans.send(id, "submit", { attributes: { termMonths } });

    const { metadata, attributes } = await loans.read(id);
    expect(metadata.currentState).toBe(state);
    expect((await loans.history(id)).at(-1)).toMatchObject({ transitionKey: by });
    expect(attributes).toMatchObject({
      score: expect.any(Number) as number,
      offer: { termMonths },
    });
  });

  test("a decision is recorded with who made it", async () => {
    const id = await apply(5000);
    await loans.send(id, "submit");
    expect((await loans.read(id)).metadata.stage).toBe("scored");

    const reason = { attributes: { decision: { reason: "no" } } };
    await loans.send(id, "reject", reason, { headers: { act_sub: "clerk-7" } });

    expect(await loans.read(id)).toMatchObject({
      metadata: { status: "C", stage: "decided" },
      attributes: { decision: { outcome: "rejected", by: "clerk-7", reason: "no" } },
    });
  });

  test("a quote is answered 201 by its output script, with its own header and content type", async () => {
    const quotes = instancesOf(app, "quote", "loans");

    const asked = await quotes.start({ attributes: { amount: 1200 } });

    const { quote } = asked.body as { quote: string };
    expect(asked).toMatchObject({
      status: 201,
      headers: { "x-quote-id": quote, "content-type": "application/vnd.loans.quote+json" },
      body: { state: "open", offers: [{ termMonths: 12, monthly: 102.67 }, {}, {}] },
    });
    expect(await quotes.send(quote, "take")).toMatchObject({
      status: 200,
      body: { quote, state: "taken" },
    });
  });
});
