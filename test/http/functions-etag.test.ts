/** ETags of the built-in functions, on two nodes over one database. */
import { expect, test } from "vitest";
import { allow } from "../support/a-function.ts";
import { aComponent, aSchema, aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile, type TestRuntime } from "../support/start-runtime.ts";

const one = await startRuntimeForFile();
const other = await startRuntimeForFile({ databaseUrl: one.databaseUrl });

const viewRef = { key: "page", domain: "core", flow: "sys-views", version: "latest" };
const page = (renderer: string, version: string) =>
  aComponent("sys-views", "page", { type: 1, content: {}, renderer }, { version });
const form = (title: string, version: string) =>
  aSchema(
    "form",
    { type: "object", title, properties: { limit: { "x-roles": [allow("officer")] } } },
    { version },
  );

await one.publish(
  page("vue", "1.0.0"),
  form("one", "1.0.0"),
  aWorkflow("tagged")
    .state("here", { view: viewRef })
    .transition("stay", { schema: "form", roles: [allow("officer"), allow("clerk")] })
    .transition("go", { to: "there" })
    .state("there", { view: viewRef })
    .transition("stay", { schema: "form" })
    .updateData("amend")
    .schema("form"),
);
const flows = instancesOf(one, "tagged");

type Tags = Record<string, string | undefined>;
const surfaces = ["state", "data", "schema?transitionKey=stay", "master"];

async function tagsOn(app: TestRuntime, id: string, headers: Record<string, string> = {}) {
  const tags: Tags = {};
  for (const surface of surfaces) {
    const path = `${flows.path}/${id}/functions/${surface}`;
    const answer = await app.get(path, headers);
    tags[surface] = answer.headers["etag"];
    // What is named is known, here as there.
    const known = { ...headers, "if-none-match": answer.headers["etag"] ?? "" };
    expect((await app.get(path, known)).status).toBe(304);
  }
  return tags;
}

const moved = (before: Tags, after: Tags) =>
  surfaces.filter((surface) => before[surface] !== after[surface]);

/** The tags of both nodes, which are the same. */
async function tagsOf(id: string, headers: Record<string, string> = {}): Promise<Tags> {
  const here = await tagsOn(one, id, headers);
  expect(await tagsOn(other, id, headers)).toEqual(here);
  return here;
}

test("a change of the data moves the tag of the data alone", async () => {
  const id = await flows.begin({ amount: 1 });
  const before = await tagsOf(id);

  await flows.send(id, "amend", { amount: 2 });

  expect(moved(before, await tagsOf(id))).toEqual(["data"]);
});

test("a change of the state moves the tag of the state alone", async () => {
  const id = await flows.begin({ amount: 1 });
  const before = await tagsOf(id);

  await flows.send(id, "go");

  expect(moved(before, await tagsOf(id))).toEqual(["state"]);
});

test("roles move a tag where another role sees something else", async () => {
  const id = await flows.begin({ limit: 1 });
  const nobody = await tagsOf(id);

  const clerk = await tagsOf(id, { role: "clerk" });
  const officer = await tagsOf(id, { role: "officer" });

  expect(moved(nobody, clerk)).toEqual(["state"]);
  expect(moved(clerk, officer)).toEqual(["data", "schema?transitionKey=stay", "master"]);
  expect(await tagsOf(id, { role: "somebody" })).toEqual(nobody);
  expect(await tagsOf(id, { "x-request-id": "7", "user-agent": "x" })).toEqual(nobody);
});

test("a new version of a view or a schema that is shown moves its tags, on the other node too", async () => {
  const id = await flows.begin({ amount: 1 });
  const officer = { role: "officer" };
  const before = await tagsOf(id, officer);

  await one.publish(page("react", "1.1.0"), form("two", "1.1.0"));

  await eventually(async () => {
    expect(moved(before, await tagsOn(other, id, officer))).toEqual([
      "state",
      "schema?transitionKey=stay",
      "master",
    ]);
  });
  await tagsOf(id, officer);
});
