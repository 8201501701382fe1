/** Tasks of type 17: reading, writing and deleting entries of the configured stores. */
import { Client } from "pg";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { output, slot, taskWith } from "../support/a-script-slot.ts";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { startFakeDaprState } from "../support/fake-dapr-state.ts";
import { openIncidents } from "../support/incidents.ts";
import { idOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const sidecar = await startFakeDaprState("orders");
const app = await startRuntimeForFile({
  settings: {
    "StateStore.Name": "main",
    "StateStore.Stores": [
      "main=postgres",
      "quick=memory",
      "remote=dapr:orders",
      "away=redis://127.0.0.1:1",
    ],
    "Dapr.HttpEndpoint": sidecar.url,
  },
});
const incidentsOf = await openIncidents(app.databaseUrl);
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(async () => {
  await database.end();
  await sidecar.close();
});

/** Puts the task's answer into the instance's data. */
const keepAnswer = output("return { Data: { answer: context.Body } };");

interface Answer {
  data: unknown;
  isSuccess: boolean;
  statusCode: number;
  errorMessage?: string;
  metadata: Record<string, unknown>;
}

let flows = 0;

/** Publishes a task with this config and a workflow that runs it at its start, and starts it. */
async function run(config: object, mapping: object = keepAnswer, attributes: object = {}) {
  flows += 1;
  const key = `store-${flows}`;
  await app.publish(
    aComponent("sys-tasks", key, { type: "17", config }),
    aWorkflow(key)
      .start("start", { onExecutionTasks: [taskWith(key, mapping)] })
      .state("open")
      .transition("go", { to: "open" }),
  );
  const flow = instancesOf(app, key);
  const answer = await flow.start({ attributes });
  expect(answer.status).toBe(200);
  const id = idOf(answer);
  const { body, text } = await flow.get(id);
  const data = (body as { attributes?: { answer?: Answer } }).attributes;
  return { id, data, text, answer: data?.answer as Answer, incidents: await incidentsOf(id) };
}

const rows = async () => {
  const found = await database.query<{ key: string; value: string; store: string }>(
    "select store, key, value::text as value from state_entry order by key",
  );
  return found.rows;
};

beforeEach(async () => {
  await database.query("delete from state_entry");
});

describe("get", () => {
  test("of a miss is a success without data", async () => {
    const { answer } = await run({ command: "get", key: "nothing" });

    expect(answer).toMatchObject({ data: null, isSuccess: true, statusCode: 200 });
    expect(answer.metadata).toEqual({ Found: false, Key: "nothing", StoreName: "main" });
  });

  test("of a hit has the value and its etag", async () => {
    const { answer: written } = await run({ command: "set", key: "k", value: { n: 1 } });

    const { answer } = await run({ command: "get", key: "k" });

    expect(answer).toMatchObject({ data: { n: 1 }, isSuccess: true });
    expect(answer.metadata).toEqual({
      Found: true,
      Key: "k",
      StoreName: "main",
      ETag: written.metadata["ETag"],
    });
  });

  test("of a stored null is found", async () => {
    await run({ command: "set", key: "null", value: null });

    const { answer } = await run({ command: "get", key: "null" });

    expect(answer).toMatchObject({ data: null, metadata: { Found: true } });
  });

  test("without a mapping of its own merges the value", async () => {
    await run({ command: "set", key: "profile", value: { name: "Ada" } });

    const { data } = await run({ command: "GET", key: "profile" }, { type: "G" }, { a: 1 });

    expect(data).toEqual({ a: 1, name: "Ada" });
  });

  test("leaves no journal and no checkpoint; a set leaves its result", async () => {
    const journal = async (id: string) => {
      const found = await database.query("select 1 from task_journal where instance_id = $1", [id]);
      return found.rowCount;
    };

    const { id: got } = await run({ command: "get", key: "k" });
    const { id: set } = await run({ command: "set", key: "k", value: 1 });

    expect(await journal(got)).toBe(0);
    expect(await journal(set)).toBe(1);
  });
});

describe("set", () => {
  test("stores the value under the prefix, with its numbers as written", async () => {
    flows += 1;
    const key = `store-${flows}`;
    const task = aComponent("sys-tasks", key, { type: "17", config: "CONFIG" });
    const text = JSON.stringify(task).replace(
      `"CONFIG"`,
      `{"command":"set","key":"exact","value":{"a":0.10,"b":9007199254740993}}`,
    );
    expect(await app.post("/api/v1/definitions/publish", text)).toMatchObject({ status: 200 });
    await app.publish(
      aWorkflow(key)
        .start("start", { onExecutionTasks: [taskWith(key, { type: "G" })] })
        .state("open"),
    );

    await instancesOf(app, key).begin({});

    expect(await rows()).toContainEqual({
      store: "main",
      key: "custom:exact",
      value: `{"a": 0.10, "b": 9007199254740993}`,
    });
  });

  test("of a key that has the prefix already gets it once more", async () => {
    await run({ command: "set", key: "custom:x", value: 1 });

    expect(await rows()).toMatchObject([{ key: "custom:custom:x" }]);
  });

  test("takes key, value and life from the mapping", async () => {
    await run(
      { command: "set" },
      slot(`
        import { ScriptBase, StateStoreTask, type ScriptContext, type WorkflowTask } from "millrace/script";
        export default class Keep extends ScriptBase {
          InputHandler(task: WorkflowTask, context: ScriptContext) {
            if (!(task instanceof StateStoreTask)) throw new Error("not a state store");
            task.SetCacheKey("order:" + context.Body.number);
            task.SetValue({ total: context.Body.total });
            task.SetTtlInSeconds(60);
            return {};
          }
          OutputHandler() { return {}; }
        }`),
      { number: 7, total: 12.5 },
    );

    const { rows: found } = await database.query(
      "select key, value, expires_at - written_at = interval '60 seconds' as minute from state_entry",
    );
    expect(found).toEqual([{ key: "custom:order:7", value: { total: 12.5 }, minute: true }]);
  });

  test("with a life that is over is a miss", async () => {
    await run({ command: "set", key: "short", value: 1, ttlInSeconds: 30 });
    await database.query("update state_entry set expires_at = expires_at - interval '30 seconds'");

    const { answer } = await run({ command: "get", key: "short" });

    expect(answer).toMatchObject({ data: null, metadata: { Found: false } });
  });

  test("without a value fails with what to do", async () => {
    const { incidents } = await run({ command: "set", key: "k" });

    expect(incidents).toMatchObject([
      {
        error_code: "Task:StateStore:InvalidRequest",
        message: expect.stringContaining("'value' is missing") as string,
      },
    ]);
  });
});

describe("concurrency", () => {
  test("FirstWrite without an etag writes what is new, and nothing else", async () => {
    const config = { command: "set", key: "first", concurrency: "FirstWrite" };
    const { answer: first } = await run({ ...config, value: 1 });

    const { answer: second } = await run({ ...config, value: 2 });

    expect(first).toMatchObject({ isSuccess: true });
    expect(second).toMatchObject({ isSuccess: false, statusCode: 409 });
    expect(second.errorMessage).toContain("the entry 'first' exists");
    expect(await rows()).toMatchObject([{ value: "1" }]);
  });

  test("an etag is compared unless LastWrite is asked for", async () => {
    const { answer: first } = await run({ command: "set", key: "e", value: 1 });
    const etag = first.metadata["ETag"];
    const { answer: second } = await run({ command: "set", key: "e", value: 2, etag });

    const { answer: stale } = await run({ command: "set", key: "e", value: 3, etag });
    expect(second).toMatchObject({ isSuccess: true });
    expect(stale).toMatchObject({ isSuccess: false, statusCode: 409 });
    expect(stale.errorMessage).toContain(`no longer has the etag '${String(etag)}'`);

    const last = { command: "set", key: "e", value: 4, etag, concurrency: "LastWrite" };
    expect((await run(last)).answer).toMatchObject({ isSuccess: true });
    expect(await rows()).toMatchObject([{ value: "4" }]);
  });

  test("an etag that a mapping read is the one that is compared", async () => {
    await run({ command: "set", key: "s", value: 1 });
    const { answer } = await run(
      { command: "set", key: "s", value: 2 },
      slot(`
        export function InputHandler(task) { task.SetETag("0"); return {}; }
        export function OutputHandler(context) { return { Data: { answer: context.Body } }; }`),
    );

    expect(answer).toMatchObject({ statusCode: 409 });
  });

  test("a delete with FirstWrite needs the right etag", async () => {
    const { answer: written } = await run({ command: "set", key: "d", value: 1 });
    const config = { command: "delete", key: "d", concurrency: "FirstWrite" };

    expect((await run(config)).answer).toMatchObject({ isSuccess: false, statusCode: 409 });
    expect((await run({ ...config, etag: "0" })).answer).toMatchObject({ statusCode: 409 });
    const { answer } = await run({ ...config, etag: written.metadata["ETag"] });
    expect(answer).toMatchObject({ isSuccess: true });
    expect((await run(config)).answer).toMatchObject({ isSuccess: true });
    expect(await rows()).toEqual([]);
  });

  test("a list of keys has no etags to compare", async () => {
    const { incidents } = await run({
      command: "delete",
      keys: ["a"],
      concurrency: "FirstWrite",
    });

    expect(incidents).toMatchObject([{ error_code: "Task:StateStore:InvalidRequest" }]);
  });
});

describe("delete", () => {
  beforeEach(async () => {
    for (const key of ["a", "b", "c"]) {
      await run({ command: "set", key, value: { team: key === "c" ? "red" : "blue" } });
    }
    await database.query(
      `insert into state_entry (store, key, value, written_at)
       values ('main', 'engine:a', '{"team":"blue"}', now()), ('main', 'a', '1', now())`,
    );
  });
  const keys = async () => (await rows()).map(({ key }) => key);

  test("takes one key", async () => {
    const { answer } = await run({ command: "delete", key: "a" });

    expect(answer).toMatchObject({ data: null, isSuccess: true });
    expect(answer.metadata).toEqual({ Key: "a", StoreName: "main" });
    expect(await keys()).toEqual(["a", "custom:b", "custom:c", "engine:a"]);
  });

  test("takes the one way that is not blank, of a config that has every member", async () => {
    const blank = { key: "", keys: [], query: "", etag: "", concurrency: "", consistency: "" };

    const one = await run({ ...blank, command: "delete", key: "a" });
    const many = await run({ ...blank, command: "delete", keys: ["b"] });
    const none = await run({ ...blank, command: "delete" });

    expect(one.answer.metadata).toEqual({ Key: "a", StoreName: "main" });
    expect(many.answer.metadata).toEqual({ Keys: ["b"], StoreName: "main" });
    expect(none.incidents).toMatchObject([
      { message: expect.stringContaining("'keys' is empty") as string },
    ]);
    expect(await keys()).toEqual(["a", "custom:c", "engine:a"]);
  });

  test("takes a list of keys, each under the prefix", async () => {
    const { answer } = await run({ command: "delete", keys: ["a", "c", "none"] });

    expect(answer.metadata).toEqual({ Keys: ["a", "c", "none"], StoreName: "main" });
    expect(await keys()).toEqual(["a", "custom:b", "engine:a"]);
  });

  test("takes what a query matches, of the tasks' own entries", async () => {
    const { answer } = await run({
      command: "delete",
      query: { filter: { EQ: { team: "blue" } }, sort: [{ key: "team" }] },
    });

    expect(answer.metadata).toEqual({ Deleted: 2, StoreName: "main" });
    expect(await keys()).toEqual(["a", "custom:c", "engine:a"]);
  });

  test.each([
    [{}, "The query has no 'filter'"],
    [{ filter: {} }, "The query has no 'filter'"],
    [{ filter: { EQ: { a: 1 } }, page: { limit: 2 } }, "a delete takes 'filter' alone"],
    [{ filter: { NEQ: { a: 1 } } }, "The filter has 'NEQ'; known are EQ, IN, AND and OR."],
    [{ filter: { EQ: { a: 1, b: 2 } } }, "EQ compares one member"],
    [{ filter: { EQ: { a: {} } } }, "EQ compares with texts, numbers, true, false and null only."],
    [{ filter: { IN: { a: [] } } }, "IN compares 'a' with a list that is not empty"],
    [{ filter: { AND: [] } }, "AND joins a list of filters that is not empty."],
    [{ filter: { AND: [1] } }, "Each filter is an object with one of"],
  ])("refuses the query %j", async (query, message) => {
    const { incidents } = await run({ command: "delete", query });

    expect(incidents).toMatchObject([
      {
        error_code: "Task:StateStore:InvalidRequest",
        message: expect.stringContaining(message) as string,
      },
    ]);
    expect(await keys()).toHaveLength(5);
  });
});

describe("stores", () => {
  test("are chosen by name, and are apart", async () => {
    await run({ command: "set", key: "k", value: "quick", storeName: "quick" });
    await run({ command: "set", key: "k", value: "remote", storeName: "remote" });

    for (const storeName of ["quick", "remote"]) {
      const { answer } = await run({ command: "get", key: "k", storeName });
      expect(answer).toMatchObject({ data: storeName, metadata: { StoreName: storeName } });
    }
    expect((await run({ command: "get", key: "k" })).answer.metadata["Found"]).toBe(false);
    expect(sidecar.keys()).toContain("custom:k");
  });

  test("that nobody configured are refused with those that are", async () => {
    const { incidents } = await run({ command: "get", key: "k", storeName: "nowhere" });

    expect(incidents).toMatchObject([
      {
        error_code: "Task:StateStore:UnknownStore",
        message: expect.stringContaining(
          "there is no state store 'nowhere'. Known are main, quick, remote, away; add it to StateStore.Stores, or correct storeName.",
        ) as string,
      },
    ]);
  });

  test("that are away fail the task, and the output handler sees it", async () => {
    const { answer } = await run({ command: "get", key: "k", storeName: "away" });

    expect(answer).toMatchObject({ data: null, isSuccess: false, statusCode: 503 });
    expect(answer.errorMessage).toContain("The state store 'away' does not answer");
  });

  test("that cannot search fail the task with 501", async () => {
    sidecar.answerWith = { status: 500, body: "no query API" };
    const query = { filter: { EQ: { a: 1 } } };
    const { answer } = await run({ command: "delete", query, storeName: "remote" });
    sidecar.answerWith = undefined;

    expect(answer).toMatchObject({ isSuccess: false, statusCode: 501 });
  });
});

describe("keys and commands that cannot be", () => {
  test.each([
    ["no key", { command: "get" }, "'key' is missing"],
    ["a long key", { command: "get", key: "x".repeat(1020) }, "1027 bytes with its prefix"],
    ["NUL in a key", { command: "get", key: "a\u0000b" }, "the key is unusable"],
    [
      "NUL in a value",
      { command: "set", key: "k", value: { a: ["\u0000"] } },
      "'a.0' of the value",
    ],
  ])("%s is refused", async (_, config, message) => {
    const { incidents } = await run(config);

    expect(incidents).toMatchObject([
      {
        error_code: "Task:StateStore:InvalidRequest",
        message: expect.stringContaining(message) as string,
      },
    ]);
  });

  test("a mapping may choose the command", async () => {
    await run(
      { command: "get", key: "chosen", value: 5 },
      slot(`
        export function InputHandler(task) { task.SetCommand("set"); return {}; }
        export function OutputHandler() { return {}; }`),
    );

    expect(await rows()).toMatchObject([{ key: "custom:chosen", value: "5" }]);
  });

  test("a command that changes where nobody can see it is refused", async () => {
    const { incidents } = await run(
      { command: "get", key: "hidden", value: 5 },
      slot(`
        export function InputHandler(task) { task["Set" + "Command"]("set"); return {}; }
        export function OutputHandler() { return {}; }`),
    );

    expect(incidents).toMatchObject([
      { message: expect.stringContaining("Call SetCommand in the mapping itself") as string },
    ]);
    expect(await rows()).toEqual([]);
  });
});
