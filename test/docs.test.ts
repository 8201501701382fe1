/** The documents that code can check. `docs/errors.md` has a test of its own. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { settings, type SettingName } from "../src/config.ts";
import { eventually } from "./support/eventually.ts";
import { startRuntimeForFile } from "./support/start-runtime.ts";

const root = new URL("../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...readdirSync(new URL("docs/", root), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name.replaceAll("\\", "/")}`),
];

test.each(pages)("the links of %s lead somewhere", (page) => {
  const targets = [...read(page).matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, to = ""]) => to);

  const here = new URL(page, root);
  expect(targets.filter((to) => !existsSync(new URL(to, here)))).toEqual([]);
});

test.each(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/compatibility.md"])(
  "the files that %s names are there",
  (page) => {
    const named = [...read(page).matchAll(/`((?:src|test|docs|examples|schemas|\.ci)\/[^`*…]+)`/g)]
      .map(([, path = ""]) => path)
      .filter((path) => !/[\s{]/.test(path));

    expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  },
);

test("every choice of docs/compatibility.md names what holds it", () => {
  const rows = read("docs/compatibility.md")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| Question |^\|---/.test(line));

  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter((row) => !/\| `(test|src)\/[^|]+\|$/.test(row))).toEqual([]);
});

interface Shown {
  kind: string;
  default: unknown;
  about: string;
  env?: string;
  min?: number;
  max?: number;
  choices?: readonly string[];
}

const allowed = ({ kind, min, max, choices }: Shown): string => {
  if (choices !== undefined) return choices.map((choice) => `\`${choice}\``).join(" ");
  if (kind !== "integer") return { boolean: "`true` `false`", list: "list" }[kind] ?? "text";
  return max === undefined ? `from ${min} up` : `${min} to ${max}`;
};
const shownDefault = (value: unknown): string => {
  const text = Array.isArray(value) ? value.join(",") : String(value);
  return text === "" ? "–" : `\`${text}\``;
};

describe("docs/configuration.md", () => {
  test("has the table of src/config.ts", () => {
    const rows = (Object.keys(settings) as SettingName[]).map((name) => {
      const setting: Shown = settings[name];
      const env = setting.env === undefined ? "" : ` \`${setting.env}\``;
      return `| \`${name}\`${env} | ${shownDefault(setting.default)} | ${allowed(setting)} | ${setting.about} |`;
    });
    const page = read("docs/configuration.md").split("\n");

    expect(page.filter((line) => line.startsWith("| `"))).toEqual(rows);
  });
});

interface Step {
  request: CurlRequest;
  /** What the page shows of the answer. */
  shown?: string;
}

interface CurlRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

/** The curl commands of a page, each with the JSON that follows it. */
function stepsIn(page: string): Step[] {
  const steps: Step[] = [];
  for (const [, language, text = ""] of read(page).matchAll(/```(sh|json)\n([\s\S]*?)```/g)) {
    const last = steps.at(-1);
    if (language === "sh") steps.push(...requestsIn(text).map((request) => ({ request })));
    else if (last !== undefined && last.shown === undefined) last.shown = text;
  }
  return steps;
}

const requestsIn = (text: string): CurlRequest[] =>
  text
    .replaceAll("\\\n", " ")
    .split(/^(?=curl )/m)
    .filter((command) => command.startsWith("curl "))
    .map(requestOf);

/** Reads the few curl options the pages use. */
function requestOf(command: string): CurlRequest {
  const body = /-d '([^']*)'/.exec(command)?.[1];
  const url = /'?(http:\/\/localhost:4201[^'\s]*)'?/.exec(command)?.[1] ?? "";
  const method = /-X (\w+)/.exec(command)?.[1] ?? (body === undefined ? "GET" : "POST");
  const headers = [...command.matchAll(/-H '([^:']+):\s*([^']*)'/g)];
  return {
    method: method as CurlRequest["method"],
    path: url.replace("http://localhost:4201", ""),
    headers: Object.fromEntries(headers.map(([, name = "", value = ""]) => [name, value])),
    body,
  };
}

/** `…` stands for any text, and what is left out for anything. */
function asShown(shown: unknown): unknown {
  if (shown === "…") return expect.any(String);
  if (Array.isArray(shown)) return shown.map(asShown);
  if (typeof shown !== "object" || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, asShown(value)]));
}

describe("the sample domain", async () => {
  // A page is a long conversation.
  vi.setConfig({ testTimeout: 60_000 });
  const app = await startRuntimeForFile({
    settings: { "Runtime.Samples": "on", "Egress.Allow": ["loopback"] },
    roles: ["api", "worker"],
  });
  const send = ({ method, path, headers, body }: CurlRequest) =>
    app.send(method, path, body, headers);

  test("docs/tour.md shows the answers that its requests get", async () => {
    const steps = stepsIn("docs/tour.md");

    expect(steps.length).toBeGreaterThan(20);
    for (const { request, shown = "{}" } of steps) {
      const body = asShown(JSON.parse(shown)) as { status?: unknown };
      const status = typeof body.status === "number" ? body.status : 200;
      const look = async () => {
        const answer = await send(request);
        expect([request, answer]).toMatchObject([request, { status, body }]);
      };
      // What a page reads may still be on its way: a timeout, say.
      await (request.method === "GET" ? eventually(look) : look());
    }
  });

  test("docs/scripting.md shows a request that a script answers with 201", async () => {
    const [step] = stepsIn("docs/scripting.md");

    const answer = await send(step!.request);

    expect(answer).toMatchObject({
      status: 201,
      headers: { "content-type": "application/vnd.loans.quote+json" },
    });
    expect(answer.headers).toHaveProperty("x-quote-id");
  });

  test("the README has a first publish, start, transition, subflow, incident and retry, which all work", async () => {
    const answers: Record<string, unknown> = {};
    for (const { request } of stepsIn("README.md")) {
      const { status, body } = await send(request);
      const path = request.path.replace("/api/v1/loans/workflows/loan-application/instances", "");
      answers[`${request.method} ${path}`] = [status, (body as { status?: string }).status];
    }

    expect(answers).toMatchObject({
      "POST /api/v1/definitions/publish": [200, undefined],
      "PATCH /ada-1/transitions/submit?sync=true": [200, "A"],
      "PATCH /hedy-1/transitions/submit?sync=true": [200, "B"],
      "PATCH /hedy-1/transitions/confirm?sync=true": [200, "C"],
      "PATCH /alan-1/transitions/submit?sync=true": [200, "F"],
      "GET /alan-1/incidents/active": [200, undefined],
      "POST /alan-1/retry?sync=true": [200, "C"],
    });
    expect(Object.values(answers).filter((answer) => (answer as number[])[0] !== 200)).toEqual([]);
  });
});
