import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { aDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, idOf, instancesOf } from "../support/instances-of.ts";
import { startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());

const order = aWorkflow("order")
  .state("open")
  .transition("pay", { to: "paid" })
  .state("paid", { type: "finish", subType: "success" });
await app.publish(order);
const orders = instancesOf(app, "order");

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function instanceCount(flow: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "select count(*)::int as count from instance where flow = $1",
    [flow],
  );
  return rows[0]!.count;
}

describe("the answer", () => {
  test("with sync=true is 200 and the whole envelope, settled", async () => {
    const answer = await orders.start({ key: "A-1", attributes: { amount: 10 } });

    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(answer.body).toEqual({
      id: expect.stringMatching(uuid),
      key: "A-1",
      status: "A",
      attributes: { amount: 10 },
      eTag: expect.stringMatching(/^"[\w-]{43}"$/),
      entityEtag: expect.stringMatching(/^"[0-9A-HJKMNP-TV-Z]{26}"$/),
      extensions: {},
    });
    expect(answer.headers["x-workflow"]).toBe(`core,order,1.0.0,${idOf(answer)}`);
    expect(answer.headers["etag"]).toBeUndefined();
  });

  test("without sync is 202 with id, key and status, and the work is done soon after", async () => {
    const answer = await orders.start({ key: "A-2", attributes: { amount: 10 } }, { query: "" });

    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({ id: expect.stringMatching(uuid), key: "A-2", status: "B" });
    expect(answer.headers["x-workflow"]).toBe(`core,order,1.0.0,${idOf(answer)}`);
    await eventually(async () => {
      expect(await orders.read("A-2")).toMatchObject({
        metadata: { status: "A", currentState: "open" },
        attributes: { amount: 10 },
      });
    });
  });

  test("has no key when none was given", async () => {
    const now = await orders.start({ amount: 1 });
    const later = await orders.start({ amount: 1 }, { query: "sync=false" });

    expect(now.body).not.toHaveProperty("key");
    expect(Object.keys(later.body as object).toSorted()).toEqual(["id", "status"]);
  });

  test("to a start without a body is an instance with empty data", async () => {
    const answer = await orders.start();

    expect(answer).toMatchObject({ status: 200, body: { status: "A", attributes: {} } });
  });

  test("has the status C when the instance ends at once", async () => {
    await app.publish(
      aWorkflow("instant")
        .state("first")
        .transition("on", { to: "end", otherwise: true })
        .state("end", { type: "finish" }),
    );

    const answer = await instancesOf(app, "instant").start({ key: "I-1" });

    expect(answer).toMatchObject({ status: 200, body: { status: "C", key: "I-1" } });
  });

  test.each(["sync=yes", "sync=1", "sync=true&sync=false"])("to %s is 400", async (query) => {
    expect(codeOf(await orders.start({}, { query }))).toBe("400 validation.ModelValidation:Failed");
  });
});

test("what a start leaves is read back with every field", async () => {
  const answer = await orders.start(
    { key: "F-1", tags: ["retail", "vip", "retail"], stage: "Intake", attributes: { amount: 5 } },
    { headers: { sub: "customer", act_sub: "agent7" } },
  );

  const { eTag, entityEtag } = answer.body as { eTag: string; entityEtag: string };
  expect(await orders.read(idOf(answer))).toEqual({
    id: idOf(answer),
    key: "F-1",
    flow: "order",
    domain: "core",
    flowVersion: "1.0.0",
    eTag,
    entityEtag,
    tags: ["retail", "vip"],
    metadata: {
      currentState: "open",
      effectiveState: "open",
      status: "A",
      effectiveStateType: "initial",
      effectiveStateSubType: "none",
      currentStateType: "initial",
      currentStateSubType: "none",
      stage: "Intake",
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      modifiedAt: expect.stringMatching(/Z$/),
      createdBy: "agent7",
      createdByBehalfOf: "customer",
      modifiedBy: "agent7",
      modifiedByBehalfOf: "customer",
      incident: {
        hasActiveIncident: false,
        totalCount: 0,
        history: { href: `${orders.path}/${idOf(answer)}/incidents` },
      },
    },
    attributes: { amount: 5 },
    extensions: {},
  });
});

const flow = (version: string) =>
  aWorkflow("versioned")
    .version(version)
    .state(`in-${version.replaceAll(/[.+]/g, "-")}`);

const flowIn = (version: string, to: string) =>
  aWorkflow("life")
    .version(version)
    .state("a")
    .transition("go", { to })
    .state(to)
    .transition("on", { to: "a" });

describe("the version of the workflow", () => {
  const ready = app.publish(
    flow("1.0.0"),
    flow("1.2.0"),
    flow("1.10.0"),
    flow("2.0.0-pkg.1.0.0+hr"),
  );
  const versioned = instancesOf(app, "versioned");

  test.each([
    ["", "2.0.0-pkg.1.0.0+hr"],
    ["&version=latest", "2.0.0-pkg.1.0.0+hr"],
    ["&version=1", "1.10.0"],
    ["&version=1.2", "1.2.0"],
    ["&version=1.0.0", "1.0.0"],
    ["&version=2.0.0-pkg.1.0.0+hr", "2.0.0-pkg.1.0.0+hr"],
    ["&version=2.0.0-pkg.1.0.0%2Bhr", "2.0.0-pkg.1.0.0+hr"],
    ["&Version=1.2.0", "1.2.0"],
  ])("chosen by '%s' is %s", async (query, version) => {
    await ready;

    const id = await versioned.begin({}, { query: `sync=true${query}` });

    expect(await versioned.read(id)).toMatchObject({
      flowVersion: version,
      metadata: { currentState: `in-${version.replaceAll(/[.+]/g, "-")}` },
    });
  });

  test.each(["3", "1.0.1", "nonsense"])("%s does not exist: 404", async (version) => {
    await ready;

    const answer = await versioned.start({}, { query: `sync=true&version=${version}` });

    expect(codeOf(answer)).toBe("404 notfound.Cache:300001");
  });

  test("of a workflow nobody published does not exist: 404", async () => {
    const sync = await instancesOf(app, "nothing").start({ key: "x" });
    const queued = await instancesOf(app, "nothing").start({ key: "x" }, { query: "" });

    expect([codeOf(sync), codeOf(queued)]).toEqual([
      "404 notfound.Cache:300001",
      "404 notfound.Cache:300001",
    ]);
  });

  test("stays with the instance for life: newer versions and a restart change nothing", async () => {
    const databaseUrl = await aDatabase();
    const first = await startRuntime({ databaseUrl });
    await first.publish(flowIn("1.0.0", "old"));
    const before = instancesOf(first, "life");
    await before.begin({ key: "L-1" });
    await before.begin({ key: "L-2" });
    await first.publish(flowIn("1.0.0-pkg.9.0.0+x", "pkg"), flowIn("1.1.0", "new"));

    await before.send("L-1", "go");
    await first.stop();
    const second = await startRuntime({ databaseUrl });
    const after = instancesOf(second, "life");
    await after.send("L-2", "go");
    await after.begin({ key: "L-3" });
    await after.send("L-3", "go");

    expect(await after.read("L-1")).toMatchObject({
      flowVersion: "1.0.0",
      metadata: { currentState: "old" },
    });
    expect(await after.read("L-2")).toMatchObject({
      flowVersion: "1.0.0",
      metadata: { currentState: "old" },
    });
    expect(await after.read("L-3")).toMatchObject({
      flowVersion: "1.1.0",
      metadata: { currentState: "new" },
    });
  });
});

describe("a key that is in use", () => {
  test.each([
    ["at once", "sync=true"],
    ["queued", "sync=false"],
  ])("is refused with 409 %s, and nothing is left behind", async (_, query) => {
    await orders.begin({ key: `K-${query}` });
    const before = await instanceCount("order");

    const answer = await orders.start({ key: `K-${query}`, attributes: { other: 1 } }, { query });

    expect(codeOf(answer)).toBe("409 conflict.Instance:100025");
    expect(answer.body).toMatchObject({ target: `K-${query}` });
    expect(await instanceCount("order")).toBe(before);
    expect((await orders.read(`K-${query}`)).attributes).toEqual({});
  });

  test("is refused also for an instance that would have ended at once", async () => {
    await app.publish(
      aWorkflow("either")
        .state("first")
        .transition("on", { to: "end", rule: "context.Instance.Data.fast == true" })
        .transition("wait", {})
        .state("end", { type: "finish" }),
    );
    const either = instancesOf(app, "either");
    await either.begin({ key: "E-1", attributes: { fast: false } });

    const answer = await either.start({ key: "E-1", attributes: { fast: true } });

    expect(codeOf(answer)).toBe("409 conflict.Instance:100025");
  });

  test("is told before anything about the payload", async () => {
    await app.publish(
      aSchema("needs-amount", { type: "object", required: ["amount"] }),
      aWorkflow("checked").start("begin", { schema: "needs-amount" }).state("open"),
    );
    const checked = instancesOf(app, "checked");
    await checked.begin({ key: "C-1", attributes: { amount: 1 } });

    expect(codeOf(await checked.start({ key: "C-1", attributes: {} }))).toBe(
      "409 conflict.Instance:100025",
    );
    expect((await checked.start({ key: "C-2", attributes: {} })).status).toBe(400);
  });

  test("is free again when its instance has completed; the newest is found by it", async () => {
    const first = await orders.begin({ key: "K-9" });
    await orders.send("K-9", "pay");

    const second = await orders.begin({ key: "K-9" });

    expect(second).not.toBe(first);
    expect((await orders.read("K-9")).id).toBe(second);
    expect((await orders.read(first)).metadata.status).toBe("C");
  });

  test("in one workflow or domain is free in every other", async () => {
    await app.publish(aWorkflow("other").state("open"), order.in("hr"));
    await orders.begin({ key: "K-10" });

    expect((await instancesOf(app, "other").start({ key: "K-10" })).status).toBe(200);
    expect((await instancesOf(app, "order", "hr").start({ key: "K-10" })).status).toBe(200);
  });
});

describe("with Instances.StartOnExistingKey=returnExisting a key that is in use", async () => {
  const friendly = await startRuntimeForFile({
    settings: { "Instances.StartOnExistingKey": "returnExisting" },
  });
  await friendly.publish(order);
  const instances = instancesOf(friendly, "order");

  test("answers with the instance that has it, and runs nothing", async () => {
    const first = await instances.start({ key: "R-1", attributes: { amount: 1 } });

    const again = await instances.start({ key: "R-1", attributes: { amount: 2 }, tags: ["x"] });
    const queued = await instances.start({ key: "R-1" }, { query: "sync=false" });

    expect(again).toMatchObject({ status: 200 });
    expect(again.body).toEqual(first.body);
    expect(queued).toMatchObject({ status: 202 });
    expect(queued.body).toEqual({ id: idOf(first), key: "R-1", status: "A" });
    expect(again.headers["x-workflow"]).toBe(first.headers["x-workflow"]);
    expect(await instances.history("R-1")).toHaveLength(1);
  });

  test("starts a new one when the old one has completed", async () => {
    const first = await instances.begin({ key: "R-2" });
    await instances.send("R-2", "pay");

    const second = await instances.begin({ key: "R-2" });

    expect(second).not.toBe(first);
  });

  test("gives 20 simultaneous starts one and the same instance", async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => instances.start({ key: "R-3" })),
    );

    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(new Set(answers.map((a) => a.status))).toEqual(new Set([200]));
    expect(await instances.history("R-3")).toHaveLength(1);
  });
});

describe("limits", () => {
  test.each([
    ["key", { key: "k".repeat(100) }, 200],
    ["key", { key: "k".repeat(101) }, 400],
    ["stage", { stage: "s".repeat(120) }, 200],
    ["stage", { stage: "s".repeat(121) }, 400],
    ["key", { key: 12 }, 400],
    ["tags", { tags: "one" }, 400],
    ["tags[1]", { tags: ["one", 2] }, 400],
  ])("of %s: %.60j is answered with %i", async (path, body, status) => {
    const answer = await orders.start(body);

    expect(answer.status).toBe(status);
    if (status === 400) {
      expect(answer.body).toMatchObject({
        code: "ModelValidation:Failed",
        errors: { [path]: [expect.any(String)] },
      });
    }
  });

  test.each([
    ["NUL in the data", { attributes: { a: { b: "x\u0000" } } }, "attributes.a.b"],
    ["NUL in a name", { attributes: { "\u0000": 1 } }, "attributes.\u0000"],
    ["NUL in the key", { key: "a\u0000b", attributes: {} }, "key"],
    ["NUL in a tag", { tags: ["\u0000"], attributes: {} }, "tags.0"],
    ["half a surrogate pair", { a: "\ud800" }, "a"],
  ])("%s is refused with its place: PostgreSQL could not keep it", async (_, body, path) => {
    const answer = await orders.start(body);

    expect(codeOf(answer)).toBe("400 validation.ModelValidation:Failed");
    expect(Object.keys((answer.body as { errors: object }).errors)).toEqual([path]);
  });

  test("a number that would fill a book is refused", async () => {
    const answer = await orders.start('{"amount":1e999999}');

    expect(answer).toMatchObject({
      status: 400,
      body: { errors: { amount: [expect.any(String)] } },
    });
  });
});

test("a start that is refused leaves no trace", async () => {
  await app.publish(
    aSchema("strict", { type: "object", properties: { amount: { type: "integer" } } }),
    aWorkflow("traceless").start("begin", { schema: "strict" }).state("open"),
  );
  const traceless = instancesOf(app, "traceless");

  const answers = await Promise.all(
    ["sync=true", "sync=false"].flatMap((query) => [
      traceless.start({ key: "T-1", attributes: { amount: "much" } }, { query }),
      traceless.start({ key: "k".repeat(101), attributes: {} }, { query }),
      traceless.start("{not json", { query }),
      traceless.start("a[][b]=1", {
        query,
        headers: { "content-type": "application/x-www-form-urlencoded" },
      }),
    ]),
  );

  expect(answers.map((a) => a.status)).toEqual(Array.from({ length: 8 }, () => 400));
  expect(await instanceCount("traceless")).toBe(0);
  const { rows } = await database.query(
    `select 1 from job j left join instance i on i.id = j.instance_id
     where i.flow = 'traceless' or i.id is null`,
  );
  expect(rows).toEqual([]);
});

test("a definition cannot be started", async () => {
  const answer = await instancesOf(app, "sys-flows").start({ key: "x" });

  expect(codeOf(answer)).toBe("400 notsupported.App:900003");
});

test("a start transition with roles is for those who have one of them", async () => {
  await app.publish(
    aWorkflow("closed")
      .start("begin", { roles: [{ role: "clerk", grant: "allow" }] })
      .state("open"),
  );
  const closed = instancesOf(app, "closed");

  const stranger = await closed.start({ key: "x" });
  const clerk = await closed.start({ key: "x" }, { headers: { role: "clerk" } });

  expect(codeOf(stranger)).toBe("403 forbidden.Authorization:110001");
  expect(clerk.status).toBe(200);
});
