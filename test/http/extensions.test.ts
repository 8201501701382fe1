import { describe, expect, test } from "vitest";
import { anExtension, extensionRef, functionTask } from "../support/a-function.ts";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { slot, taskWith } from "../support/a-script-slot.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntime, startRuntimeForFile, type Answer } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const named = (name: string) => `return { Data: "${name}" };`;

await app.publish(
  functionTask,
  anExtension(
    "always-there",
    1,
    "return { Data: { amount: context.Instance.Data.amount, by: context.Headers['role'] ?? null } };",
  ),
  anExtension("when-asked", 2, named("asked")),
  anExtension("for-flow", 3, named("flow")),
  anExtension("for-flow-asked", 4, named("flow asked")),
  anExtension("not-listed", 3, named("never")),
  anExtension("lists-only", 1, named("never"), { scope: 2 }),
  anExtension("every-where", 2, named("everywhere"), { scope: 3 }),
  aWorkflow("extended")
    .state("here")
    .transition("move", {})
    .with({
      extensions: [
        extensionRef("for-flow"),
        extensionRef("for-flow-asked"),
        extensionRef("not-published"),
      ],
    }),
);
const flows = instancesOf(app, "extended");
const id = await flows.begin({ amount: 5 });
const keysOf = ({ body }: Answer) => Object.keys((body as { extensions: object }).extensions);

const reads: [string, (query: string) => Promise<Answer>][] = [
  ["the instance", (query) => flows.get(id, { query })],
  ["its data function", (query) => app.get(`${flows.path}/${id}/functions/data?${query}`)],
  [
    "its extensions function",
    (query) => app.get(`${flows.path}/${id}/functions/extensions?${query}`),
  ],
  ["a synchronous start", (query) => flows.start({}, { query: `sync=true&${query}` })],
  [
    "a synchronous transition",
    (query) => flows.send(id, "move", {}, { query: `sync=true&${query}` }),
  ],
];

describe.each(reads)("%s", (_name, read) => {
  test.each([
    ["", ["alwaysThere", "forFlow"]],
    ["extensions=when-asked", ["alwaysThere", "whenAsked"]],
    ["extensions=WHEN-ASKED,for-flow-asked", ["alwaysThere", "whenAsked", "forFlowAsked"]],
    ["Extensions=for-flow&extensions=every-where", ["alwaysThere", "everyWhere", "forFlow"]],
    ["extensions=not-listed,nobody", ["alwaysThere"]],
  ])("has with '%s' the extensions %j", async (query, keys) => {
    expect(keysOf(await read(query))).toEqual(keys);
  });
});

test("an extension sees the instance and the request, and its data stand under its name", async () => {
  const answer = await flows.get(id, {
    query: "extensions=for-flow",
    headers: { role: "officer" },
  });

  expect(answer.body).toMatchObject({
    extensions: { alwaysThere: { amount: 5, by: "officer" }, forFlow: "flow" },
  });
});

test("extensions are no part of an ETag, and do not run for who knows the rest", async () => {
  const plain = await flows.get(id);
  const more = await flows.get(id, { query: "extensions=when-asked" });

  expect(more.headers["etag"]).toBe(plain.headers["etag"]);
  expect(
    await flows.get(id, {
      query: "extensions=when-asked",
      headers: { "if-none-match": plain.headers["etag"] ?? "" },
    }),
  ).toMatchObject({ status: 304 });
});

test("the list has none, whatever is asked", async () => {
  const { body } = await flows.list("extensions=when-asked");

  const { items } = body as { items: object[] };
  expect(items.length).toBeGreaterThan(0);
  for (const item of items) expect(item).not.toHaveProperty("extensions");
});

test("a 202 has none", async () => {
  const answer = await flows.start({}, { query: "sync=false&extensions=when-asked" });

  expect(answer.status).toBe(202);
  expect(answer.body).not.toHaveProperty("extensions");
});

describe("an extension that fails", async () => {
  await app.publish(
    anExtension("breaks", 4, "throw new Error('no answer');"),
    aWorkflow("fragile")
      .state("here")
      .transition("move", {})
      .with({ extensions: [extensionRef("breaks")] }),
  );
  const fragile = instancesOf(app, "fragile");
  const broken = await fragile.begin({});

  test.each(["", "/functions/data", "/functions/extensions"])(
    "fails the read of '%s'",
    async (path) => {
      const answer = await app.get(`${fragile.path}/${broken}${path}?extensions=breaks`);

      expect(codeOf(answer)).toBe("400 validation.Extension:600001");
      expect(answer.body).toMatchObject({
        target: "breaks",
        detail: expect.stringContaining("no answer") as string,
      });
    },
  );

  test("is left out of the answer to a start or transition, which is done all the same", async () => {
    const answer = await fragile.send(
      broken,
      "move",
      { a: 1 },
      { query: "sync=true&extensions=breaks" },
    );

    expect(answer).toMatchObject({ status: 200, body: { attributes: { a: 1 } } });
    expect(keysOf(answer)).toEqual(["alwaysThere"]);
  });
});

test("a task that reads an instance gets the extensions it names, and a circle of such reads ends", async () => {
  const circle = await startRuntime();
  const task = (extensions: string[]) =>
    aComponent("sys-tasks", `read-${extensions.length}`, {
      type: "13",
      config: { domain: "core", flow: "circle", extensions },
    });
  const through = slot(
    "export function InputHandler() { return {}; } export function OutputHandler(context) { return { Data: context.Body.data.extensions }; }",
  );
  await circle.publish(
    functionTask,
    task([]),
    task(["plain"]),
    task(["plain", "around"]),
    anExtension("plain", 2, named("plain")),
    anExtension("reads-none", 2, "", { task: taskWith("read-0", through) }),
    anExtension("reads-one", 2, "", { task: taskWith("read-1", through) }),
    anExtension("around", 2, "", { task: taskWith("read-2", through) }),
    aWorkflow("circle").state("here"),
  );
  const circles = instancesOf(circle, "circle");
  const one = await circles.begin({});
  const read = (name: string) => circles.get(one, { query: `extensions=${name}` });

  expect((await read("reads-none")).body).toMatchObject({ extensions: { readsNone: {} } });
  expect((await read("reads-one")).body).toMatchObject({
    extensions: { readsOne: { plain: "plain" } },
  });
  expect(codeOf(await read("around"))).toBe("400 validation.Extension:600001");
});

test("with an open subflow the data are the instance's, the extensions the subflow's", async () => {
  const mapping = slot(
    "export function InputHandler() { return { Data: { amount: 9 } }; } export function OutputHandler() { return {}; }",
  );
  await app.publish(
    aWorkflow("inner")
      .state("here")
      .transition("end", { to: "over" })
      .state("over", { type: "finish" }),
    aWorkflow("outer")
      .state("open")
      .transition("go", { to: "inside" })
      .state("inside", {
        type: "subFlow",
        subFlow: {
          type: "S",
          process: { key: "inner", domain: "core", flow: "sys-flows", version: "1.0.0" },
          mapping,
        },
      })
      .transition("next", { to: "over", rule: "true" })
      .state("over", { type: "finish" }),
  );
  const outers = instancesOf(app, "outer");
  const outer = await outers.begin({ amount: 1 });
  await outers.send(outer, "go");

  const { body } = await app.get(`${outers.path}/${outer}/functions/data`);

  expect(body).toMatchObject({ data: { amount: 1 }, extensions: { alwaysThere: { amount: 9 } } });
  expect((await outers.get(outer)).body).toMatchObject({
    extensions: { alwaysThere: { amount: 1 } },
  });
});
