/** One task per item of a list: the items, how many at a time, how they are joined. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { slot } from "../support/a-script-slot.ts";
import { defaultDomain, aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { aTask, run, taskRef } from "../support/run-task.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ settings: { "Egress.Allow": ["loopback"] } });

/**
 * Answers `/ok/…` and `/fail/…` at once, and holds `/hold/…` until the test lets go; `/late/…` fails
 * as soon as something is held.
 */
let asked: { path: string; key: string | undefined }[] = [];
let held: ServerResponse[] = [];
const late: ServerResponse[] = [];
let gone = 0;
const server = createServer((request, response) => {
  const path = request.url ?? "";
  asked.push({ path, key: request.headers["idempotency-key"] as string | undefined });
  response.setHeader("content-type", "application/json");
  response.statusCode = /^\/(?:fail|late)\//.test(path) ? 503 : 200;
  if (path.startsWith("/late/") && held.length === 0) {
    late.push(response);
    return;
  }
  if (path.startsWith("/hold/")) {
    held.push(response);
    for (const waiting of late.splice(0)) waiting.end("{}");
    response.on("close", () => {
      // Not one that an earlier test has left behind.
      if (!response.writableFinished && held.includes(response)) gone += 1;
    });
    return;
  }
  response.end(JSON.stringify({ path, more: "x".repeat(path.startsWith("/large/") ? 4e6 : 0) }));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
  held = [];
  gone = 0;
});

await app.publish(aTask("call", "6", { url: base, method: "GET" }));

const perItem = `
  export function ItemInputHandler(task, context, item) {
    task.SetUrl(task.Url + "/" + (item.Value.kind ?? "ok") + "/" + item.ItemKey);
    return {};
  }`;

interface Row {
  index: number;
  itemKey: string;
  isSuccess: boolean;
  data: unknown;
  errorCode: string | null;
  errorMessage: string | null;
}

async function fanOut(
  key: string,
  config: object,
  list: unknown,
  { script = perItem, mapping = slot(script) }: { script?: string; mapping?: object } = {},
) {
  const whole = { itemsPath: "$.list", task: taskRef("call"), ...config };
  const { instance, id } = await run(app, {
    key,
    task: aTask(key, "21", whole),
    mapping,
    data: { list },
  });
  const data = instance.attributes as Record<string, unknown>;
  return {
    id,
    instance,
    data,
    rows: data["fanOutResults"] as Row[],
    summary: data["fanOutResultsSummary"],
  };
}

const kinds = (...list: string[]) => list.map((kind, i) => ({ id: `${kind}${i}`, kind }));

describe("the items", () => {
  test("come from the data, each with a task of its own and a stable key", async () => {
    const { rows, summary, instance } = await fanOut("per-item", {}, kinds("ok", "ok", "fail"));

    expect(asked.map(({ path }) => path).toSorted()).toEqual(["/fail/fail2", "/ok/ok0", "/ok/ok1"]);
    const keys = asked.map(({ key = "" }) => key.split("#"));
    expect(new Set(keys.map(([, index]) => index))).toEqual(new Set(["0", "1", "2"]));
    expect(new Set(keys.map(([task]) => task)).size).toBe(1);
    expect(rows).toMatchObject([
      { index: 0, itemKey: "ok0", isSuccess: true, data: { path: "/ok/ok0" }, errorCode: null },
      { index: 1, itemKey: "ok1", isSuccess: true },
      { index: 2, itemKey: "fail2", isSuccess: false, errorCode: "Task:Http:503" },
    ]);
    expect(summary).toEqual({ total: 3, succeeded: 2, failed: 1, timedOut: false });
    expect(instance.metadata).toMatchObject({ status: "A", currentState: "done" });
  });

  test("are so many at most", async () => {
    const { instance } = await fanOut(
      "many",
      {},
      Array.from({ length: 10_001 }, (_, i) => i),
    );

    expect(instance.metadata.status).toBe("F");
    expect(asked).toEqual([]);
  });

  test("have results as large as data may be at most", async () => {
    await app.publish(aTask("call-large", "6", { url: `${base}/large/`, method: "GET" }));
    const config = { task: taskRef("call-large") };

    const { rows, summary } = await fanOut("large", config, [1, 2, 3, 4, 5], {
      mapping: { type: "G" },
    });

    expect(summary).toMatchObject({ total: 5, succeeded: 4, failed: 1 });
    expect(rows.find(({ isSuccess }) => !isSuccess)).toMatchObject({
      errorCode: "FanOut:TooLarge",
      data: null,
    });
  });

  test("make one version of the data, however many they are", async () => {
    const { id } = await fanOut("one-write", {}, kinds("ok", "ok", "ok", "ok"));

    const flow = instancesOf(app, "one-write");
    // 1.0.0 by the start, 1.0.1 by the output.
    expect(await flow.get(id, { query: "version=1.0.1" })).toMatchObject({ status: 200 });
    expect(await flow.get(id, { query: "version=1.0.2" })).toMatchObject({ status: 404 });
  });

  test("come from the script when it selects them", async () => {
    const { rows } = await fanOut("selected", { itemsPath: null }, [1, 2, 3], {
      script: `${perItem}
        export function ItemSelector(context) {
          return context.Instance.Data.list.filter((n) => n > 1).map((n) => ({ id: "n" + n }));
        }`,
    });

    expect(rows.map((row) => row.itemKey)).toEqual(["n2", "n3"]);
  });

  test.each([
    ["both say what they are", "both-say", {}, [1], "export const ItemSelector = () => [1];"],
    ["nothing says what they are", "none-says", { itemsPath: null }, [1], ""],
    ["they are no list", "no-list", {}, { a: 1 }, ""],
  ])("are refused when %s", async (_when, key, config, list, more) => {
    const { instance, rows } = await fanOut(key, config, list, { script: perItem + more });

    expect(instance.metadata).toMatchObject({ status: "F", currentState: "open" });
    expect(rows).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test.each([
    ["that is empty", "empty-list", []],
    ["that is not there", "no-list-there", null],
  ])("of a list %s are none", async (_which, key, list) => {
    const { rows, summary } = await fanOut(key, {}, list);

    expect(rows).toEqual([]);
    expect(summary).toEqual({ total: 0, succeeded: 0, failed: 0, timedOut: false });
  });

  test("run as configured without a script", async () => {
    const { summary } = await fanOut("no-script", {}, [1, 2], { mapping: { type: "G" } });

    expect(asked.map(({ path }) => path)).toEqual(["/", "/"]);
    expect(summary).toMatchObject({ total: 2, succeeded: 2 });
  });

  test("whose handler throws fail alone", async () => {
    const { rows } = await fanOut("throws", {}, kinds("ok", "bad"), {
      script: `
        export function ItemInputHandler(task, context, item) {
          if (item.Value.kind === "bad") throw new Error("no such document");
          return {};
        }`,
    });

    expect(rows).toMatchObject([{ isSuccess: true }, { isSuccess: false }]);
    expect(rows[1]?.errorMessage).toContain("no such document");
  });

  test("cannot be fan-outs themselves", async () => {
    await app.publish(aTask("inner-fan-out", "21", { itemsPath: "$.x", task: taskRef("call") }));

    const { instance } = await fanOut("nested", { task: taskRef("inner-fan-out") }, [1]);

    expect(instance.metadata.status).toBe("F");
  });

  test("start one instance each", async () => {
    await app.publish(
      aWorkflow("letter").state("written").transition("send"),
      aTask("write-letter", "11", { domain: defaultDomain, flow: "letter", sync: true }),
    );

    const { rows } = await fanOut("letters", { task: taskRef("write-letter") }, ["ann", "bob"], {
      script: `
        export function ItemInputHandler(task, context, item) {
          task.SetKey(item.Value); task.SetBody({ to: item.Value }); return {};
        }`,
    });

    expect(rows).toMatchObject([
      { data: { key: "ann", attributes: { to: "ann" } } },
      { data: { key: "bob", attributes: { to: "bob" } } },
    ]);
    const { body } = await instancesOf(app, "letter").list();
    expect((body as { items: object[] }).items).toHaveLength(2);
  });
});

describe("so many at a time", () => {
  test("as the config allows, and the next when one ends", async () => {
    const config = { execution: { maxDegreeOfParallelism: 2 } };

    const running = fanOut("two-at-a-time", config, kinds("hold", "hold", "hold"));
    await eventually(() => expect(held).toHaveLength(2));
    held[0]!.end("{}");
    await eventually(() => expect(held).toHaveLength(3));
    expect(asked).toHaveLength(3);
    held[1]!.end("{}");
    held[2]!.end("{}");

    expect((await running).summary).toMatchObject({ total: 3, succeeded: 3 });
  });

  test("in the order in which they ended, when the order of the list does not matter", async () => {
    const config = { join: { ordered: false }, execution: { maxDegreeOfParallelism: 2 } };

    const running = fanOut("as-they-end", config, kinds("hold", "ok", "hold"));
    // The third begins when the second has ended.
    await eventually(() => expect(held).toHaveLength(2));
    for (const response of held) response.end("{}");

    const indexes = (await running).rows.map((row) => row.index);
    expect(indexes[0]).toBe(1);
    expect(new Set(indexes)).toEqual(new Set([0, 1, 2]));
  });

  test("each for as long as it may take", async () => {
    const config = { execution: { itemTimeoutSeconds: 5 } };

    const { rows, summary, instance } = await fanOut("slow-item", config, kinds("hold", "ok"));

    expect(rows).toMatchObject([
      { isSuccess: false, errorCode: "FanOut:ItemTimeout" },
      { isSuccess: true },
    ]);
    expect(summary).toEqual({ total: 2, succeeded: 1, failed: 1, timedOut: false });
    expect(instance.metadata.status).toBe("A");
    await eventually(() => expect(gone).toBe(held.length));
  });

  test("all together for as long as the batch may take", async () => {
    const config = { execution: { batchTimeoutSeconds: 1, maxDegreeOfParallelism: 1 } };

    const { rows, summary } = await fanOut("slow-batch", config, kinds("hold", "ok"));

    expect(rows).toMatchObject([
      { isSuccess: false, errorCode: "FanOut:BatchTimeout" },
      { isSuccess: false, errorCode: "FanOut:BatchTimeout" },
    ]);
    expect(summary).toEqual({ total: 2, succeeded: 0, failed: 2, timedOut: true });
    expect(asked.map(({ path }) => path)).not.toContain("/ok/ok1");
  });
});

describe("the policy", () => {
  test("all: the first failure cancels the rest and fails the task, whose results are kept", async () => {
    const config = { join: { policy: "all" }, execution: { maxDegreeOfParallelism: 2 } };

    const { rows, instance } = await fanOut("all-fails", config, kinds("hold", "late", "ok"));

    expect(rows).toMatchObject([
      { isSuccess: false, errorCode: "FanOut:ItemCancelled" },
      { isSuccess: false, errorCode: "Task:Http:503" },
      { isSuccess: false, errorCode: "FanOut:ItemCancelled" },
    ]);
    expect(instance.metadata.status).toBe("F");
    expect(asked).toHaveLength(2);
    await eventually(() => expect(gone).toBe(1));
  });

  test("all: succeeds when every item does", async () => {
    const { instance } = await fanOut(
      "all-succeed",
      { join: { policy: "all" } },
      kinds("ok", "ok"),
    );

    expect(instance.metadata).toMatchObject({ status: "A", currentState: "done" });
  });

  test("firstSuccess: one is enough, and the rest is cancelled", async () => {
    const config = { join: { policy: "firstSuccess" } };

    const { rows, instance } = await fanOut("first", config, kinds("fail", "hold", "ok"));

    expect(rows).toMatchObject([
      { isSuccess: false },
      { isSuccess: false, errorCode: "FanOut:ItemCancelled" },
      { isSuccess: true },
    ]);
    expect(instance.metadata.status).toBe("A");
  });

  test.each([
    ["enough", "quorum-met", 2, "A"],
    ["too few", "quorum-missed", 3, "F"],
  ])("quorum: %s successes", async (_how, key, minSuccess, status) => {
    const config = { join: { policy: "quorum", minSuccess } };

    const { instance, summary } = await fanOut(key, config, kinds("ok", "fail", "ok"));

    expect(instance.metadata.status).toBe(status);
    expect(summary).toEqual({ total: 3, succeeded: 2, failed: 1, timedOut: false });
  });
});

describe("the output", () => {
  test("is the script's, which gets the results and finds the response in its context", async () => {
    const { data } = await fanOut("own-output", {}, kinds("ok", "fail"), {
      script: `${perItem}
        export function OutputHandler(context, result) {
          return { Data: {
            mine: result.Items.map((item) => [item.Index, item.ItemKey, item.IsSuccess, item.ErrorCode]),
            counts: [result.Total, result.Succeeded, result.Failed, result.TimedOut],
            seen: context.TaskResponse["ownOutput"].isSuccess,
          } };
        }`,
    });

    expect(data).toMatchObject({
      mine: [
        [0, "ok0", true, null],
        [1, "fail1", false, "Task:Http:503"],
      ],
      counts: [2, 1, 1, false],
      seen: true,
    });
    expect(data).not.toHaveProperty("fanOutResults");
  });

  test("is packaged under the key of the config when the script answers nothing", async () => {
    const config = { join: { resultKey: "letters" } };

    const { data } = await fanOut("own-key", config, kinds("ok"), {
      script: `${perItem} export const OutputHandler = () => null;`,
    });

    expect(data).toMatchObject({
      letters: [{ isSuccess: true }],
      lettersSummary: { total: 1, succeeded: 1 },
    });
  });
});
