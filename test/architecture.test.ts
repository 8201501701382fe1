/** Checks the drawing in ARCHITECTURE.md, not anybody's style. */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/** What each folder may import beside itself. */
const mayImport: Record<string, readonly string[]> = {
  engine: [],
  outgoing: ["engine"],
  scripting: ["engine"],
  storage: ["engine", "outgoing"],
  notifications: ["engine", "outgoing"],
  tasks: ["engine", "scripting", "outgoing", "storage", "notifications"],
  runtime: ["engine", "storage", "scripting", "outgoing", "notifications", "tasks"],
  functions: ["engine", "scripting", "tasks", "runtime"],
  http: ["engine", "runtime", "functions"],
  deploy: ["engine", "outgoing", "storage", "http"],
  cli: ["engine", "storage", "scripting", "tasks", "runtime", "functions", "http", "deploy"],
};

/** The start, which wires everything together; nobody but the command line imports it. */
const wiring = ["millrace.ts", "publish-sample.ts", "sample-partners.ts"];
const anyoneButEngine = [
  "config.ts",
  "settings.ts",
  "log.ts",
  "log-trouble.ts",
  "metrics.ts",
  "ids.ts",
  "service-version.ts",
];

/** The deployment API shares the server, not the runtime's routes: it reaches those over HTTP. */
const sharedServer = [
  "create-server.ts",
  "api-documents.ts",
  "health-routes.ts",
  "schema.ts",
  "listen.ts",
];

/** Libraries that are wrapped in our words in one place. */
const livesIn: Record<string, RegExp> = {
  pg: /^storage\//,
  fastify: /^(http|deploy)\//,
  commander: /^cli\//,
  pino: /^log\.ts$/,
  undici: /^outgoing\//,
  "@redis/client": /^storage\/state-stores\//,
  jose: /^http\//,
  "@opentelemetry/sdk-metrics": /^metrics\.ts$/,
  semver: /^(engine\/version|deploy\/pick-version)\.ts$/,
  "npm-package-arg": /^deploy\/package-spec\.ts$/,
  tar: /^deploy\/read-archive\.ts$/,
};

const src = fileURLToPath(new URL("../src/", import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
  .map((path) => ({ path, text: readFileSync(src + path, "utf8") }));

const importPattern = /^\s*(?:import|export)\b[^;"]*?"([^"]+)"|\bimport\("([^"]+)"\)/gm;
const imports = files.flatMap(({ path, text }) =>
  [...text.matchAll(importPattern)].map((match) => ({
    file: path,
    imported: match[1] ?? match[2] ?? "",
  })),
);

const arrows = imports
  .filter(({ imported }) => imported.startsWith(".") && imported.endsWith(".ts"))
  .map(({ file, imported }) => {
    const target = posix.normalize(posix.join(posix.dirname(file), imported));
    return { file, target, from: topOf(file), to: topOf(target) };
  })
  .filter(({ from, to }) => from !== to);

/** `engine/version.ts` → `engine`; a file at the root is its own. */
function topOf(path: string): string {
  return path.split("/")[0] ?? path;
}

const allowed = ({ from, to }: { from: string; to: string }): boolean => {
  if (wiring.includes(from)) return true;
  if (wiring.includes(to)) return from === "cli";
  // The root files that everyone may use stand on the engine alone.
  if (anyoneButEngine.includes(from)) return to === "engine" || anyoneButEngine.includes(to);
  if (anyoneButEngine.includes(to)) return from !== "engine";
  return mayImport[from]?.includes(to) === true;
};

test("the scan sees what it is meant to see", () => {
  expect(files.length).toBeGreaterThan(100);
  expect(arrows.length).toBeGreaterThan(100);
  expect(arrows).toContainEqual(
    expect.objectContaining({ file: "cli/start.ts", target: "millrace.ts" }),
  );
});

test("every folder and root file of src has its place in the drawing", () => {
  const known = [...Object.keys(mayImport), ...wiring, ...anyoneButEngine];

  expect(
    [...new Set(files.map(({ path }) => topOf(path)))].filter((p) => !known.includes(p)),
  ).toEqual([]);
});

test("imports follow the arrows", () => {
  const wrong = arrows.filter((arrow) => !allowed(arrow));

  expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

test("deploy takes the shared server from http, and no route of the runtime", () => {
  const taken = arrows.filter(({ from, to }) => from === "deploy" && to === "http");

  expect(taken.filter(({ target }) => !sharedServer.includes(posix.basename(target)))).toEqual([]);
});

test("deploy knows its jobs' store as a port, and no database", () => {
  const taken = arrows.filter(({ from, to }) => from === "deploy" && to === "storage");

  expect(taken.filter(({ target }) => target !== "storage/publish-job-store.ts")).toEqual([]);
});

describe("the engine", () => {
  const engine = files.filter(({ path }) => path.startsWith("engine/"));

  test("imports nothing of Node", () => {
    const used = imports.filter(
      ({ file, imported }) => file.startsWith("engine/") && imported.startsWith("node:"),
    );

    expect(used).toEqual([]);
  });

  test.each([
    ["reads no clock", /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b/],
    ["throws no dice", /\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b/],
    ["knows no process", /\bprocess\.(?!\w*\s*:)/],
    ["sets no timer", /\bset(?:Timeout|Interval|Immediate)\(/],
    ["waits for nobody", /\bawait\b|\basync (?:function\b|\(|\w+ =>)/],
  ])("%s", (_, pattern) => {
    const lines = engine.flatMap(({ path, text }) =>
      withoutComments(text)
        .split("\n")
        .filter((line) => pattern.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );

    expect(lines).toEqual([]);
  });
});

/** Good enough for the words above: a comment may speak of what the code does not do. */
const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|\s)\/\/.*$/gm, "");

test.each(Object.entries(livesIn))("%s is imported in one place", (library, place) => {
  const users = imports.filter(({ imported }) => imported === library).map(({ file }) => file);

  expect(users).not.toEqual([]);
  expect(users.filter((file) => !place.test(file))).toEqual([]);
});
