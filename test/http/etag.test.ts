import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { aWorkflow, hook } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { idOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
await app.publish(
  aWorkflow("order")
    .state("open")
    .transition("pay", { to: "paid" })
    .transition("again", {})
    .transition("break", { onExecutionTasks: hook("missing") })
    .state("paid")
    .transition("back", { to: "open" })
    .updateData("amend"),
);
const orders = instancesOf(app, "order");

async function tagsOf(instance: string, query = "") {
  const { headers, body } = await orders.get(instance, { query });
  expect(body).toMatchObject({ eTag: headers["etag"], entityEtag: headers["x-entity-etag"] });
  return { etag: headers["etag"] ?? "", entity: headers["x-entity-etag"] ?? "" };
}

describe("an instance that is read again", () => {
  test("has the same tags while nothing happens, by id and by key", async () => {
    const id = await orders.begin({ key: "E-1", attributes: { a: 1 } });

    const first = await tagsOf(id);

    expect(first.etag).toMatch(/^"[\w-]{43}"$/);
    expect(first.entity).toMatch(/^"[0-9A-HJKMNP-TV-Z]{26}"$/);
    expect(await tagsOf(id)).toEqual(first);
    expect(await tagsOf("E-1")).toEqual(first);
  });

  test("has the tags that the start and the transition answered with", async () => {
    const started = await orders.start({ a: 1 });
    const afterStart = await tagsOf(idOf(started));
    const sent = await orders.send(idOf(started), "pay", { b: 1 });
    const afterPay = await tagsOf(idOf(started));

    expect(started.body).toMatchObject({ eTag: afterStart.etag, entityEtag: afterStart.entity });
    expect(sent.body).toMatchObject({ eTag: afterPay.etag, entityEtag: afterPay.entity });
    expect(afterPay.etag).not.toBe(afterStart.etag);
  });

  test.each<[string, string, object, boolean]>([
    ["another state and other data", "pay", { attributes: { a: 2 } }, true],
    ["another state alone", "pay", {}, false],
    ["the same state with other data", "again", { attributes: { a: 2 } }, true],
    ["the same data", "pay", { attributes: { a: 1 } }, false],
    ["a stage", "again", { stage: "S", attributes: {} }, false],
    ["a tag", "again", { tags: ["t"], attributes: {} }, false],
    ["an incident", "break", {}, false],
    ["data alone", "amend", { attributes: { a: 2 } }, true],
  ])("after %s has another ETag; the entity's changes only with the data", async (...row) => {
    const [, transition, body, dataChanged] = row;
    const id = await orders.begin({ attributes: { a: 1 } });
    const before = await tagsOf(id);

    await orders.send(id, transition, body);

    const after = await tagsOf(id);
    expect(after.etag).not.toBe(before.etag);
    expect(after.entity !== before.entity).toBe(dataChanged);
  });

  test("after a refusal has the same tags", async () => {
    const id = await orders.begin();
    const before = await tagsOf(id);

    await orders.send(id, "nothing");
    await orders.send(id, "back");
    await orders.send(id, "pay", "{not json");

    expect(await tagsOf(id)).toEqual(before);
  });

  test("after A, B and A again has another ETag than before", async () => {
    const id = await orders.begin();
    const before = await tagsOf(id);

    await orders.send(id, "again", {}, { query: "sync=false" });

    await eventually(async () => {
      const { metadata } = await orders.read(id);
      expect(metadata).toMatchObject({ status: "A" });
      expect(await orders.history(id)).toHaveLength(2);
    });
    expect((await tagsOf(id)).etag).not.toBe(before.etag);
  });

  test("after there and back has another ETag: it was modified later", async () => {
    const id = await orders.begin();
    const before = await tagsOf(id);

    await orders.send(id, "pay");
    await orders.send(id, "back");

    const after = await tagsOf(id);
    expect(after.etag).not.toBe(before.etag);
    expect(after.entity).toBe(before.entity);
  });

  test("after a write that shows nowhere has the same ETag", async () => {
    const id = await orders.begin();
    const before = await tagsOf(id);
    const database = new Client({ connectionString: app.databaseUrl });
    await database.connect();

    // What a node does to an instance whose work it takes over.
    await database.query("update instance set rev = rev + 1 where id = $1", [id]);
    await database.end();

    expect(await tagsOf(id)).toEqual(before);
  });

  test("in an older version of its data has that version's entity tag", async () => {
    const id = await orders.begin({ attributes: { a: 1 } });
    const first = await tagsOf(id);
    await orders.send(id, "amend", { attributes: { a: 2 } });
    const second = await tagsOf(id);

    const pinned = await tagsOf(id, "version=1.0.0");

    expect(pinned.entity).toBe(first.entity);
    expect(pinned.etag).not.toBe(second.etag);
    expect(await tagsOf(id, "version=1.0.1")).toEqual(second);
  });
});

describe("a conditional read", async () => {
  const id = await orders.begin({ key: "C-1", attributes: { a: 1 } });
  const { etag, entity } = await tagsOf(id);

  test.each([
    ["the tag", etag],
    ["the weak tag", `W/${etag}`],
    ["the tag without quotes", etag.slice(1, -1)],
    ["a list with the tag", `"a,b", W/"x", ${etag}`],
    ["a star", "*"],
  ])("that names %s is answered 304 with the tags and without a body", async (_, header) => {
    const answer = await orders.get(id, { headers: { "if-none-match": header } });

    expect(answer).toMatchObject({ status: 304, text: "" });
    expect(answer.headers).toMatchObject({ etag, "x-entity-etag": entity });
    expect(answer.headers["content-type"]).toBeUndefined();
  });

  test.each([
    ["another tag", '"other"'],
    ["the entity's tag", entity],
    ["a list of others", '"a", "b"'],
    ["nothing", ""],
  ])("that names %s is answered in full", async (_, header) => {
    const answer = await orders.get(id, { headers: { "if-none-match": header } });

    expect(answer).toMatchObject({ status: 200, body: { key: "C-1" } });
  });

  test("of an instance that is not there is 404, also with a star", async () => {
    const answer = await orders.get("nothing", { headers: { "if-none-match": "*" } });

    expect(answer).toMatchObject({ status: 404, body: { code: "Instance:100013" } });
    expect(answer.headers["etag"]).toBeUndefined();
  });

  test("sees the next change", async () => {
    const other = await orders.begin();
    const tag = (await tagsOf(other)).etag;
    const conditional = { headers: { "if-none-match": tag } };

    expect((await orders.get(other, conditional)).status).toBe(304);
    await orders.send(other, "pay");
    expect((await orders.get(other, conditional)).status).toBe(200);
  });
});
