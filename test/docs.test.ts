/** The documents that code can check. `docs/errors.md` has a test of its own. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { settings, type SettingName } from "../src/config.ts";
import { startRuntime, type TestRuntime } from "./support/start-runtime.ts";

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

/** The curl commands of a page. */
const requestsIn = (page: string): CurlRequest[] =>
  [...read(page).matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, text]) => text)
    .flatMap((text = "") => text.replaceAll("\\\n", " ").split(/^(?=curl )/m))
    .filter((command) => command.startsWith("curl "))
    .map(requestOf);

test("docs/scripting.md shows a request that a script answers with 201", async () => {
  const app = await startRuntime({ settings: { "Runtime.Samples": "on" } });

  const answers = [];
  for (const { method, path, body } of requestsIn("docs/scripting.md")) {
    answers.push(await app.send(method, path, body));
  }

  expect(answers).toMatchObject([
    { status: 201, headers: { "content-type": "application/vnd.loans.quote+json" } },
  ]);
  expect(answers[0]?.headers).toHaveProperty("x-quote-id");
});

describe("the README", () => {
  const requests = requestsIn("README.md");

  test("has a first publish, start, transition and reads, which all work", async () => {
    const app = await startRuntime({
      settings: { "Runtime.Samples": "on" },
      roles: ["api", "worker"],
    });

    const answers: Record<string, number> = {};
    for (const request of requests)
      answers[`${request.method} ${request.path}`] = await run(app, request);

    expect(Object.values(answers)).toEqual([200, 200, 200, 200, 200, 200, 200]);
    expect(Object.keys(answers)).toEqual(
      expect.arrayContaining([
        "POST /api/v1/definitions/publish",
        expect.stringContaining("POST /api/v1/loans/workflows/loan-application/instances/start"),
        expect.stringContaining("PATCH"),
      ]),
    );
  });
});

interface CurlRequest {
  method: "GET" | "POST" | "PATCH";
  path: string;
  body: string | undefined;
}

/** Reads the few curl options the README uses. */
function requestOf(command: string): CurlRequest {
  const body = /-d '([^']*)'/.exec(command)?.[1];
  const url = /'?(http:\/\/localhost:4201[^'\s]*)'?/.exec(command)?.[1] ?? "";
  const method = /-X (\w+)/.exec(command)?.[1] ?? (body === undefined ? "GET" : "POST");
  return {
    method: method as CurlRequest["method"],
    path: url.replace("http://localhost:4201", ""),
    body,
  };
}

const run = async (app: TestRuntime, { method, path, body }: CurlRequest) =>
  (await app.send(method, path, body)).status;
