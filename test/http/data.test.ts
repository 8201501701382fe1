import { describe, expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
await app.publish(
  aWorkflow("order")
    .state("open")
    .transition("patch", { versionStrategy: "Patch" })
    .transition("minor", { versionStrategy: "Minor" })
    .transition("major", { versionStrategy: "Major" })
    .transition("none", { versionStrategy: "None" }),
  aSchema("master", {
    type: "object",
    maxProperties: 3,
    properties: {
      amount: { type: "integer", maximum: 100 },
      customer: { type: "object", properties: { ownerUserId: { type: "string" } } },
    },
  }),
  aWorkflow("checked").schema("master").state("open").transition("note", {}).updateData("amend"),
);
const orders = instancesOf(app, "order");
const checked = instancesOf(app, "checked");

describe("a payload is merged into the data:", () => {
  test.each<[string, object, object, object]>([
    [
      "objects member by member",
      { a: { x: 1, y: { p: 1 } } },
      { a: { y: { q: 2 }, z: 3 } },
      { a: { x: 1, y: { p: 1, q: 2 }, z: 3 } },
    ],
    ["null keeps what is there", { a: { x: 1 } }, { a: { x: null } }, { a: { x: 1 } }],
    ["null under a new name is written", { a: 1 }, { b: null }, { a: 1, b: null }],
    ["anything replaces null", { a: null }, { a: { b: 1 } }, { a: { b: 1 } }],
    ["arrays are replaced as a whole", { l: [1, 2, { a: 1 }] }, { l: [9] }, { l: [9] }],
    ["another type wins", { a: { b: 1 }, c: 1 }, { a: "x", c: [1] }, { a: "x", c: [1] }],
    ["an empty object adds nothing", { a: { b: 1 } }, { a: {} }, { a: { b: 1 } }],
    ["names differ by letter case", { a: 1 }, { A: 2 }, { a: 1, A: 2 }],
  ])("%s", async (_, before, payload, after) => {
    const id = await orders.begin({ attributes: before });

    const answer = await orders.send(id, "patch", { attributes: payload });

    expect(answer.body).toMatchObject({ attributes: after });
    expect((await orders.read(id)).attributes).toEqual(after);
  });
});

describe("versions of the data", () => {
  test("follow the strategy of each transition", async () => {
    const id = await orders.begin({ n: 0 });
    const versions = { "1.0.0": 0, "1.0.1": 1, "1.1.0": 2, "1.1.1": 3, "2.0.0": 4, "2.1.0": 5 };
    for (const [i, key] of ["patch", "minor", "patch", "major", "minor"].entries()) {
      await orders.send(id, key, { n: i + 1 });
    }

    for (const [version, n] of Object.entries(versions)) {
      expect((await orders.read(id, `version=${version}`)).attributes).toEqual({ n });
    }
    expect(await orders.read(id)).toMatchObject({ attributes: { n: 5 } });
  });

  test.each([
    ["1", { n: 3 }],
    ["1.0", { n: 1 }],
    ["1.1", { n: 3 }],
    ["2", { n: 4 }],
    ["latest", { n: 4 }],
    ["", { n: 4 }],
  ])("are found by a part: '%s'", async (version, attributes) => {
    const id = await orders.begin({ n: 0 });
    for (const [i, key] of ["patch", "minor", "patch", "major"].entries()) {
      await orders.send(id, key, { n: i + 1 });
    }

    expect((await orders.read(id, `version=${version}`)).attributes).toEqual(attributes);
  });

  test.each(["3", "1.0.9", "x"])("that do not exist are 404: %s", async (version) => {
    const id = await orders.begin({ n: 0 });

    expect(codeOf(await orders.get(id, { query: `version=${version}` }))).toBe(
      "404 notfound.Instance:100013",
    );
  });

  test("with the strategy None share a number; the newest inside is read", async () => {
    const id = await orders.begin({ n: 0 });
    const first = await orders.read(id);

    await orders.send(id, "none", { n: 1 });
    await orders.send(id, "none", { n: 2 });

    const now = await orders.read(id, "version=1.0.0");
    expect(now.attributes).toEqual({ n: 2 });
    expect(now.entityEtag).not.toBe(first.entityEtag);
    expect(codeOf(await orders.get(id, { query: "version=1.0.1" }))).toMatch("404");
  });

  test("an old version shows the instance as it is now, with the data as they were", async () => {
    const id = await orders.begin({ attributes: { a: { x: 1 } }, stage: "One" });
    await orders.send(id, "patch", { attributes: { a: { y: 2 } }, stage: "Two" });
    await orders.send(id, "patch", { attributes: { a: { x: [1] }, b: null } });

    const old = await orders.read(id, "version=1.0.1");

    expect(old.attributes).toEqual({ a: { x: 1, y: 2 } });
    expect(old.metadata.stage).toBe("Two");
  });

  test.each<[string, object]>([
    ["the same content", { n: 0, deep: { a: [1, { b: 2 }] } }],
    ["a part of it", { deep: { a: [1, { b: 2 }] } }],
    ["nothing", {}],
    ["only nulls", { n: null, deep: null }],
  ])("are not made by %s: no version, no tag", async (_, payload) => {
    const id = await orders.begin({ attributes: { n: 0, deep: { a: [1, { b: 2 }] } } });
    const before = await orders.read(id);

    await orders.send(id, "major", { attributes: payload });

    const after = await orders.read(id);
    expect(after.entityEtag).toBe(before.entityEtag);
    expect(after.attributes).toEqual(before.attributes);
    expect(codeOf(await orders.get(id, { query: "version=2" }))).toMatch("404");
  });
});

const errorsOf = (body: unknown) =>
  (body as { error: { validationErrors: { members: string[] }[] } }).error.validationErrors.map(
    (e) => e.members,
  );

describe("the master schema", () => {
  test.each(["sync=true", "sync=false"])(
    "refuses a merge that does not fit it (%s), root and children together",
    async (query) => {
      const id = await checked.begin({ amount: 1, customer: { ownerUserId: "u" } });
      const before = await checked.read(id);

      const answer = await checked.send(
        id,
        "note",
        { attributes: { customer: { ownerUserId: 5 }, a: 1, b: 2 } },
        { query },
      );

      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ error: { code: "App:900002", target: "note" } });
      expect(new Set(errorsOf(answer.body).flat())).toEqual(
        new Set(["customer.ownerUserId", "root"]),
      );
      expect(await checked.read(id)).toEqual(before);
      expect(await checked.history(id)).toHaveLength(1);
    },
  );

  test("looks at the merged data, not at the payload", async () => {
    const id = await checked.begin({ a: 1, b: 2, c: 3 });

    const fits = await checked.send(id, "note", { attributes: { a: 5 } });
    const tooMany = await checked.send(id, "amend", { attributes: { d: 4 } });

    expect(fits.status).toBe(200);
    expect(errorsOf(tooMany.body)).toEqual([["root"]]);
  });

  test.each(["sync=true", "sync=false"])("refuses a start (%s)", async (query) => {
    const answer = await checked.start({ attributes: { amount: 101 }, key: "M-1" }, { query });

    expect(answer.status).toBe(400);
    expect(errorsOf(answer.body)).toEqual([["amount"]]);
    expect(codeOf(await checked.get("M-1"))).toMatch("404");
  });

  test("is not asked again about data that do not change", async () => {
    const id = await checked.begin({ amount: 1 });

    expect((await checked.send(id, "note")).status).toBe(200);
  });
});
