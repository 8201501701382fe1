import { describe, expect, test } from "vitest";
import { aWorkflow, hook } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });
await app.publish(
  aWorkflow("order")
    .state("open")
    .transition("pay", { to: "checking" })
    .transition("rename", {
      mapping: {
        encoding: "NAT",
        location: "./rename.js",
        code: "export const Handler = ({ Body }) => ({ name: `${Body.first} ${Body.last}` });",
      },
    })
    .transition("break", { to: "paid", onExecutionTasks: hook("missing") })
    .state("checking")
    .transition("wait", { to: "waiting", otherwise: true })
    .state("waiting", { type: "wizard", subType: "human" })
    .transition("expire", { to: "paid", timer: "PT0.1S" })
    .state("paid", { type: "finish", subType: "success" }),
);
const orders = instancesOf(app, "order");
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

test("a record has every field, under both names of the key", async () => {
  const id = await orders.begin(
    { key: "H-1", stage: "Intake", attributes: { amount: 5 } },
    {
      headers: { sub: "customer", act_sub: "agent7" },
    },
  );

  const [record] = await orders.history("H-1");

  expect(record).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    transitionKey: "start",
    transitionId: "start",
    fromState: "open",
    toState: "open",
    effectiveState: "open",
    effectiveStateType: "initial",
    effectiveStateSubType: "none",
    stage: "Intake",
    startedAt: expect.stringMatching(iso),
    finishedAt: expect.stringMatching(iso),
    durationSeconds: expect.any(Number),
    triggerType: "manual",
    createdAt: expect.stringMatching(iso),
    createdBy: "agent7",
    createdByBehalfOf: "customer",
    body: { amount: 5 },
    header: expect.objectContaining({ sub: "customer", act_sub: "agent7" }),
  });
  expect(record?.["id"]).not.toBe(id);
});

test("records come oldest first, one for each hop, with the trigger of each", async () => {
  const id = await orders.begin();
  await orders.send(id, "pay", { stage: "Payment", attributes: { amount: 5 } });

  const records = await eventually(async () => {
    const found = await orders.history(id);
    expect(found).toHaveLength(4);
    return found;
  });

  expect(movesOf(records)).toEqual([
    "start: open-open",
    "pay: open-checking",
    "wait: checking-waiting",
    "expire: waiting-paid",
  ]);
  expect(records.map((r) => [r.triggerType, r["effectiveStateType"], r.stage])).toEqual([
    ["manual", "initial", null],
    ["manual", "intermediate", "Payment"],
    ["automatic", "wizard", "Payment"],
    ["scheduled", "finish", "Payment"],
  ]);
  expect(records.map((r) => r["effectiveStateSubType"])).toEqual([
    "none",
    "none",
    "human",
    "success",
  ]);
  // Only the request that came from outside has a body and headers.
  expect(records.map((r) => "body" in r)).toEqual([true, true, false, false]);
  expect(records.map((r) => r.header?.["host"] !== undefined)).toEqual([true, true, false, false]);
});

test("the body is what the mapping made of the payload", async () => {
  const id = await orders.begin();

  await orders.send(id, "rename", { first: "Ada", last: "Lovelace" });

  expect((await orders.history(id))[1]?.body).toEqual({ name: "Ada Lovelace" });
  expect((await orders.read(id)).attributes).toEqual({ name: "Ada Lovelace" });
});

test("a transition that failed has null effective fields, and no end", async () => {
  const id = await orders.begin();

  const answer = await orders.send(id, "break", { stage: "S", attributes: { a: 1 } });

  expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
  const record = (await orders.history(id))[1];
  expect(record).toMatchObject({
    transitionKey: "break",
    fromState: "open",
    effectiveState: null,
    effectiveStateType: null,
    effectiveStateSubType: null,
    stage: null,
    body: { a: 1 },
  });
  expect(record).not.toHaveProperty("toState");
  expect(record).not.toHaveProperty("finishedAt");
  expect(record).not.toHaveProperty("durationSeconds");
});

describe("headers", () => {
  test("are kept under lower-case names, credentials are masked", async () => {
    const id = await orders.begin(
      {},
      {
        headers: {
          "X-Correlation": "c-1",
          Authorization: "Bearer eyJhbGciOi",
          Cookie: "session=1",
          "Proxy-Authorization": "Basic eDp5",
          "X-Api-Key": "k-1",
          "X-Plain": "visible",
        },
      },
    );

    const [record] = await orders.history(id);

    expect(record?.header).toMatchObject({
      "x-correlation": "c-1",
      "x-plain": "visible",
      authorization: "***",
      cookie: "***",
      "proxy-authorization": "***",
      "x-api-key": "***",
    });
    expect(JSON.stringify(record)).not.toMatch(/eyJhbGciOi|session=1|eDp5|k-1/);
  });

  test.each([
    ["X-Auth-Token", "t-1"],
    ["X-Amz-Security-Token", "t-2"],
    ["Private_Token", "t-3"],
    ["X-Client-Secret", "t-4"],
    ["Ocp-Apim-Subscription-Key", "t-5"],
    ["X-Forwarded", "Bearer t-6"],
    ["X-Assertion", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0LTcifQ.t-7"],
  ])("hide a credential in %s", async (name, value) => {
    const id = await orders.begin({}, { headers: { [name]: value } });

    const [record] = await orders.history(id);

    expect(record?.header).toMatchObject({ [name.toLowerCase()]: "***" });
  });

  test.each([
    ["X-Token-Type", "device"],
    ["X-Secretary", "Ada"],
    ["X-Note", "the bearer of this"],
  ])("show %s, which is no credential", async (name, value) => {
    const id = await orders.begin({}, { headers: { [name]: value } });

    const [record] = await orders.history(id);

    expect(record?.header).toMatchObject({ [name.toLowerCase()]: value });
  });

  test("are masked for queued work too, in the history and in the job", async () => {
    const answer = await orders.start(
      {},
      {
        query: "sync=false",
        headers: { authorization: "Bearer queued-secret" },
      },
    );
    const { id } = answer.body as { id: string };

    const records = await eventually(async () => {
      const found = await orders.history(id);
      expect(found).toHaveLength(1);
      return found;
    });

    expect(records[0]?.header).toMatchObject({ authorization: "***" });
  });
});

test.each([49, 50, 51, 101])("%i records, and as many versions, are all there", async (count) => {
  const id = await orders.begin({ attributes: { n: 1 } });
  for (let n = 2; n <= count; n += 1) {
    await orders.send(id, "rename", { attributes: { first: n, last: "x" } });
  }

  const records = await orders.history(id);
  const middle = await orders.read(id, "version=1.0.40");
  const last = await orders.read(id, `version=1.0.${count - 1}`);
  const packed = await fetch(`${app.url}${orders.path}/${id}/transitions`);

  expect(records.map(({ body }) => body)).toEqual([
    { n: 1 },
    ...Array.from({ length: count - 1 }, (_, i) => ({ name: `${i + 2} x` })),
  ]);
  expect(middle.attributes).toEqual({ n: 1, name: "41 x" });
  expect(last.attributes).toEqual({ n: 1, name: `${count} x` });
  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(await packed.json()).toEqual({ transitions: records });
});

test("the history of what is not there is 404", async () => {
  const instance = await app.get(`${orders.path}/nothing/transitions`);
  const workflow = await app.get("/api/v1/core/workflows/nothing/instances/x/transitions");

  expect(codeOf(instance)).toBe("404 notfound.Instance:100013");
  expect(codeOf(workflow)).toBe("404 notfound.Cache:300001");
});
