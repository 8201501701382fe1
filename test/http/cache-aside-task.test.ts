/** Tasks of type 18: the answer of another task, from a store while it is there. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client } from "pg";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { handler, output, slot, taskWith } from "../support/a-script-slot.ts";
import { aComponent, aWorkflow, defaultDomain, expression } from "../support/a-workflow.ts";
import { openIncidents } from "../support/incidents.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

let calls = 0;
let status = 200;
const server = createServer((_, response) => {
  calls += 1;
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`{"call":${calls},"price":1.10}`);
});
await new Promise<void>((resolve) => {
  server.listen(0, "127.0.0.1", resolve);
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/price`;

const app = await startRuntimeForFile({
  settings: {
    "StateStore.Stores": ["statestore=postgres", "away=redis://127.0.0.1:1"],
    "Egress.Allow": ["loopback"],
  },
});
const incidentsOf = await openIncidents(app.databaseUrl);
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(async () => {
  await database.end();
  server.close();
  server.closeAllConnections();
});

const sourceTask = (key: string) => ({
  key,
  domain: defaultDomain,
  flow: "sys-tasks",
  version: "1.0.0",
});
await app.publish(
  aComponent("sys-tasks", "ask-price", { type: "6", config: { url, method: "GET" } }),
);

beforeEach(async () => {
  calls = 0;
  status = 200;
  await database.query("delete from state_entry");
});

const keepAnswer = output("return { Data: { answer: context.Body } };");

interface Answer {
  data: unknown;
  isSuccess: boolean;
  statusCode?: number;
  errorMessage?: string;
  metadata: Record<string, unknown>;
}

let flows = 0;

/** Publishes the cache and a workflow whose start asks it; the function starts one instance. */
async function cached(config: object, mapping: object = keepAnswer) {
  flows += 1;
  const key = `cached-${flows}`;
  await app.publish(
    aComponent("sys-tasks", key, {
      type: "18",
      config: { sourceTask: sourceTask("ask-price"), ...config },
    }),
    aWorkflow(key)
      .start("start", { onExecutionTasks: [taskWith(key, mapping)] })
      .state("open")
      .transition("go", { to: "open" }),
  );
  const flow = instancesOf(app, key);
  return async (attributes: object = {}) => {
    const id = await flow.begin({ attributes });
    const { body } = await flow.get(id);
    const data = (body as { attributes?: { answer?: Answer } }).attributes;
    return { data, answer: data?.answer as Answer, incidents: await incidentsOf(id) };
  };
}

const rows = async () => {
  const found = await database.query<{ key: string; value: string }>(
    "select key, value::text as value from state_entry order by key",
  );
  return found.rows;
};

test("the first asks the source and stores its answer, the second gets it from the store", async () => {
  const ask = await cached({ key: "price" });

  const { answer: miss } = await ask();
  const { answer: hit } = await ask();

  expect(calls).toBe(1);
  expect(miss).toMatchObject({ data: { call: 1 }, isSuccess: true });
  expect(miss.metadata).toEqual({
    CacheHit: false,
    Refreshed: true,
    Key: "price",
    StoreName: "statestore",
    ETag: expect.any(String) as string,
  });
  expect(hit).toMatchObject({ data: { call: 1 }, isSuccess: true });
  expect(hit.metadata).toEqual({ ...miss.metadata, CacheHit: true, Refreshed: false });
  expect(await rows()).toEqual([{ key: "custom:price", value: `{"call": 1, "price": 1.10}` }]);
});

test("without a mapping the value is merged, on a miss and on a hit", async () => {
  const ask = await cached({ key: "merged" }, { type: "G" });

  expect((await ask({ a: 1 })).data).toMatchObject({ a: 1, call: 1 });
  expect((await ask({ a: 2 })).data).toMatchObject({ a: 2, call: 1 });
});

test("what is stored is what the source's own mapping made of the answer", async () => {
  const ask = await cached({
    key: "shaped",
    sourceMapping: output("return { Data: { shaped: context.Body.data.call } };"),
  });

  expect((await ask()).answer.data).toEqual({ shaped: 1 });
  expect((await ask()).answer).toMatchObject({ data: { shaped: 1 }, metadata: { CacheHit: true } });
  expect(await rows()).toMatchObject([{ value: `{"shaped": 1}` }]);
});

test("an entry lives as long as it is told to", async () => {
  const ask = await cached({ key: "short", ttlInSeconds: 60 });
  await ask();
  await database.query("update state_entry set expires_at = expires_at - interval '60 seconds'");

  const { answer } = await ask();

  expect(answer).toMatchObject({ data: { call: 2 }, metadata: { CacheHit: false } });
});

test("a life of 0 has no end", async () => {
  await (
    await cached({ key: "forever", ttlInSeconds: 0 })
  )();

  const { rows: found } = await database.query("select expires_at from state_entry");
  expect(found).toEqual([{ expires_at: null }]);
});

test("forceRefresh asks the source and stores the answer anew", async () => {
  await (
    await cached({ key: "forced" })
  )();

  const { answer } = await (await cached({ key: "forced", forceRefresh: true }))();

  expect(answer).toMatchObject({
    data: { call: 2 },
    metadata: { CacheHit: false, Refreshed: true },
  });
  expect(await rows()).toMatchObject([{ value: `{"call": 2, "price": 1.10}` }]);
});

test("a failure of the source fails the task and is not stored", async () => {
  const ask = await cached({ key: "failing" });
  status = 503;

  const { answer } = await ask();

  expect(answer).toMatchObject({ data: null, isSuccess: false, statusCode: 503 });
  expect(answer.errorMessage).toContain("Task 'ask-price' failed");
  expect(await rows()).toEqual([]);
});

describe("the key", () => {
  test("may be an expression", async () => {
    const ask = await cached({
      keyExpression: expression(`"customer:" + context.Body.customer.ToString()`),
    });

    await ask({ customer: 7 });
    await ask({ customer: 8 });
    const { answer } = await ask({ customer: 7 });

    expect(answer.metadata).toMatchObject({ CacheHit: true, Key: "customer:7" });
    expect((await rows()).map(({ key }) => key)).toEqual([
      "custom:customer:7",
      "custom:customer:8",
    ]);
  });

  test("may be a script; one that answers nothing leaves the configured key", async () => {
    const keyExpression = handler(
      `return context.Body.customer ? "c" + context.Body.customer : null;`,
    );
    const ask = await cached({ key: "configured", keyExpression });

    expect((await ask({ customer: 5 })).answer.metadata["Key"]).toBe("c5");
    expect((await ask({})).answer.metadata["Key"]).toBe("configured");
  });

  test("may be a script in the place of the key itself", async () => {
    const ask = await cached({ key: handler(`return "from-" + context.Body.from;`) });

    expect((await ask({ from: "script" })).answer.metadata["Key"]).toBe("from-script");
  });

  test("that the input handler sets counts before all", async () => {
    const ask = await cached(
      { key: "configured", keyExpression: expression(`"computed"`) },
      slot(`
        export function InputHandler(task) { task.SetCacheKey("by-handler"); return {}; }
        export function OutputHandler(context) { return { Data: { answer: context.Body } }; }`),
    );

    expect((await ask()).answer.metadata["Key"]).toBe("by-handler");
  });

  test("that is missing fails the task with what to do", async () => {
    const { incidents } = await (await cached({}))();

    expect(incidents).toMatchObject([
      {
        error_code: "Task:CacheAside:InvalidRequest",
        message: expect.stringContaining("it has no cache key") as string,
      },
    ]);
  });
});

describe("a cache that fails", () => {
  test("is passed by, and the answer says so", async () => {
    const { answer } = await (await cached({ key: "k", storeName: "away" }))();

    expect(answer).toMatchObject({
      data: { call: 1 },
      isSuccess: true,
      metadata: { CacheHit: false, Refreshed: false, StoreName: "away" },
    });
    expect(answer.metadata["CacheError"]).toContain("The state store 'away' does not answer");
  });

  test("fails the task when it may not be passed by", async () => {
    const ask = await cached({ key: "k", storeName: "away", bypassOnCacheError: false });

    const { answer } = await ask();

    expect(answer).toMatchObject({ isSuccess: false, statusCode: 503 });
    expect(calls).toBe(0);
  });

  test("that nobody configured is a mistake, not a failure to pass by", async () => {
    const { incidents } = await (await cached({ key: "k", storeName: "nowhere" }))();

    expect(incidents).toMatchObject([{ error_code: "Task:CacheAside:UnknownStore" }]);
    expect(calls).toBe(0);
  });
});

test("a cache in front of a cache is refused", async () => {
  await app.publish(
    aComponent("sys-tasks", "inner", {
      type: "18",
      config: { key: "k", sourceTask: sourceTask("ask-price") },
    }),
  );

  const { incidents } = await (await cached({ key: "k", sourceTask: sourceTask("inner") }))();

  expect(incidents).toMatchObject([
    { message: expect.stringContaining("its source 'inner' is a cache too") as string },
  ]);
});
