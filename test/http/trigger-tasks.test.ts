/** Tasks that start instances, move them, and start subprocesses: here and in another domain. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { StorageUnavailable } from "../../src/engine/storage-unavailable.ts";
import { aSchema, aWorkflow, defaultDomain, hook } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, idOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { aTask, dataOf, run, runTask, taskRef } from "../support/run-task.ts";
import { startRuntime, startRuntimeForFile, type TestRuntime } from "../support/start-runtime.ts";

const payments = await startRuntimeForFile({ settings: { "Runtime.Domain": "payments" } });
const app = await startRuntimeForFile({
  settings: {
    "Runtime.Domain": defaultDomain,
    "Egress.Allow": ["loopback"],
    // Nobody listens on port 1.
    "Domains.Addresses": [`payments=${payments.url}/`, "nowhere=http://127.0.0.1:1"],
  },
});

const anOrder = (key = "order") =>
  aWorkflow(key)
    .state("open")
    .transition("ship", { to: "shipped" })
    .state("shipped")
    .transition("return", { to: "open" });

await app.publish(anOrder());
await payments.publish(anOrder("payment").in("payments"));
const orders = instancesOf(app, "order");
const paid = instancesOf(payments, "payment", "payments");

/** Says nothing until the test wants it to. */
async function aSilentServer() {
  const waiting: ServerResponse[] = [];
  const server = createServer((_request, response) => void waiting.push(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => waiting.length,
    answer: () => {
      for (const response of waiting) response.end("{}");
    },
  };
}

describe("a start task", () => {
  test("starts an instance and does not wait for it", async () => {
    const started = await runTask(app, {
      key: "starts-one",
      type: "11",
      config: {
        domain: defaultDomain,
        flow: "order",
        key: "O-1",
        tags: ["web"],
        body: { amount: 12.5 },
      },
      headers: { act_sub: "agent7", sub: "customer1" },
    });

    expect(started.response).toMatchObject({
      statusCode: 202,
      isSuccess: true,
      taskType: "starttrigger",
      data: { key: "O-1", status: "B" },
      metadata: { TaskType: "StartTrigger", Domain: defaultDomain, Flow: "order" },
    });
    const { id, instanceId } = dataOf(started) as { id: string; instanceId: string };
    expect(instanceId).toBe(id);
    const order = await eventually(async () => {
      const found = await orders.read("O-1");
      expect(found.metadata.status).toBe("A");
      return found;
    });
    expect(order).toMatchObject({
      id,
      tags: ["web"],
      attributes: { amount: 12.5 },
      metadata: { createdBy: "agent7", createdByBehalfOf: "customer1" },
    });
  });

  test("waits for the first rest with sync, and the input handler has the last word", async () => {
    const { response } = await runTask(app, {
      key: "starts-and-waits",
      type: "11",
      config: { domain: "nowhere", flow: "nothing" },
      input: `
        task.SetDomain("${defaultDomain}"); task.SetFlow("order"); task.SetKey("O-2");
        task.SetSync(true); task.SetTags(["script"]); task.SetBody({ total: context.Instance.Data.total });
        task.AddHeader("x-channel", "script")`,
      data: { total: 3 },
    });

    expect(response).toMatchObject({
      statusCode: 200,
      data: { key: "O-2", status: "A", attributes: { total: 3 }, entityEtag: expect.any(String) },
    });
    expect(await orders.read("O-2")).toMatchObject({ tags: ["script"] });
    expect((await orders.history("O-2"))[0]).toMatchObject({ header: { "x-channel": "script" } });
  });

  test("takes the version it names", async () => {
    await app.publish(
      aWorkflow("versioned").version("1.0.0").state("old").transition("go"),
      aWorkflow("versioned").version("2.0.0").state("new").transition("go"),
    );
    const config = { domain: defaultDomain, flow: "versioned", sync: true };
    const started = async (key: string, version: object) => {
      const task = { key, type: "11", config: { ...config, ...version } };
      const { id } = dataOf(await runTask(app, task)) as { id: string };
      return (await instancesOf(app, "versioned").read(id)).flowVersion;
    };

    expect(await started("starts-1", { version: "1.0.0" })).toBe("1.0.0");
    expect(await started("starts-latest", {})).toBe("2.0.0");
  });

  test("that is refused tells its scripts why", async () => {
    await orders.begin({ key: "O-taken" });
    const config = { domain: defaultDomain, flow: "order", key: "O-taken", sync: true };

    const { response } = await runTask(app, { key: "starts-taken", type: "11", config });

    expect(response).toMatchObject({
      isSuccess: false,
      statusCode: 409,
      metadata: { ErrorCode: "conflict.Instance:100025" },
      data: { errorCode: "conflict.Instance:100025" },
    });
    expect(response?.["errorMessage"]).toContain("O-taken");
    const accepted = await runTask(app, {
      key: "starts-taken-accepted",
      type: "11",
      config: { ...config, acceptedStatusCodes: ["40x"] },
    });
    expect(accepted.response).toMatchObject({ isSuccess: true, statusCode: 409 });
    expect(accepted.instance.metadata.status).toBe("A");
  });

  test.each([
    ["an unknown workflow", "unknown-flow", { flow: "no-such-flow" }, 404],
    ["a system flow", "system-flow", { flow: "sys-tasks" }, 400],
    ["a key that is too long", "long-key", { flow: "order", key: "k".repeat(101) }, 400],
  ])("of %s is refused like a request", async (_what, key, config, statusCode) => {
    const { response } = await runTask(app, {
      key,
      type: "11",
      config: { domain: defaultDomain, sync: true, ...config },
    });

    expect(response).toMatchObject({ isSuccess: false, statusCode });
  });

  test("whose payload the schema rejects gets the schema's reasons", async () => {
    await app.publish(
      aSchema("amount", { type: "object", required: ["amount"] }),
      aWorkflow("checked").start("start", { schema: "amount" }).state("open").transition("go"),
    );

    const { response } = await runTask(app, {
      key: "starts-checked",
      type: "11",
      config: { domain: defaultDomain, flow: "checked", sync: true },
    });

    expect(response).toMatchObject({
      statusCode: 400,
      metadata: { ErrorCode: "validation.App:900002" },
      data: { error: { validationErrors: [{ message: expect.stringContaining("amount") }] } },
    });
  });

  test("acts as the caller, unless its own headers say otherwise", async () => {
    const roles = [{ role: "teller", grant: "allow" }];
    await app.publish(
      aWorkflow("for-tellers").start("start", { roles }).state("open").transition("go"),
    );
    const config = { domain: defaultDomain, flow: "for-tellers", sync: true };

    const stranger = await runTask(app, { key: "as-stranger", type: "11", config });
    const teller = await runTask(app, {
      key: "as-teller",
      type: "11",
      config,
      headers: { role: "teller" },
    });
    const itself = await runTask(app, {
      key: "as-itself",
      type: "11",
      config: { ...config, headers: { Role: "teller", act_sub: "batch" } },
    });

    expect(stranger.response).toMatchObject({ isSuccess: false, statusCode: 403 });
    expect(teller.response).toMatchObject({ isSuccess: true, statusCode: 200 });
    const { id } = dataOf(itself) as { id: string };
    expect(await instancesOf(app, "for-tellers").read(id)).toMatchObject({
      metadata: { createdBy: "batch" },
    });
  });

  test.each([
    ["without a flow", "no-flow", { domain: defaultDomain }],
    ["for a domain nobody knows", "no-domain", { domain: "elsewhere", flow: "order" }],
  ])("%s asks nothing", async (_what, key, config) => {
    const { response, instance } = await runTask(app, { key, type: "11", config });

    expect(response).toBeUndefined();
    expect(instance.metadata).toMatchObject({ status: "F", currentState: "open" });
  });
});

describe("a start that is waited for too long", () => {
  test("is a cancelled call; the instance goes on", async () => {
    const silent = await aSilentServer();
    await app.publish(
      aTask("ask-the-silent", "6", { url: silent.url, method: "GET" }),
      aWorkflow("slow-order")
        .start("start", { onExecutionTasks: hook("ask-the-silent") })
        .state("open")
        .transition("go"),
    );

    const { response } = await runTask(app, {
      key: "waits-too-long",
      type: "11",
      config: {
        domain: defaultDomain,
        flow: "slow-order",
        key: "SLOW",
        sync: true,
        timeoutSeconds: 1,
      },
    });

    expect(response).toMatchObject({
      isSuccess: false,
      metadata: { ExceptionType: "TaskCanceledException", Cancelled: true },
    });
    expect(response?.["errorMessage"]).toContain("1 s");
    const slow = instancesOf(app, "slow-order");
    await eventually(async () => {
      expect((await slow.read("SLOW")).metadata.status).toBe("B");
      expect(silent.asked()).toBe(1);
    });
    silent.answer();
    await eventually(async () => expect((await slow.read("SLOW")).metadata.status).toBe("A"));
  });
});

describe("an instance id that another runtime chose", () => {
  const chosen = (digit: string) => ({
    "x-millrace-instance-id": `0190a000-0000-7000-8000-00000000000${digit}`,
  });

  test.each([["sync=true"], ["sync=false"]])(
    "starts one instance, however often (%s)",
    async (query) => {
      const digit = query === "sync=true" ? "1" : "2";
      const headers = chosen(digit);
      const send = () => orders.start({ attributes: { from: digit } }, { query, headers });

      const first = await Promise.all([send(), send(), send()]);
      const later = await send();

      const ids = new Set([...first, later].map(idOf));
      expect([...ids]).toEqual([headers["x-millrace-instance-id"]]);
      expect(new Set([...first, later].map((answer) => answer.text)).size).toBe(1);
      await eventually(async () => expect(await orders.history([...ids][0]!)).toHaveLength(1));
    },
  );

  test("answers with the outcome of the start, not with what came later", async () => {
    const headers = chosen("3");
    const id = idOf(await orders.start({ attributes: { a: 1 } }, { headers }));
    await orders.send(id, "ship", { attributes: { b: 2 } });

    const repeated = await orders.start({ attributes: { a: 1 } }, { headers });

    expect(repeated.body).toMatchObject({ id, status: "A", attributes: { a: 1 } });
    expect((repeated.body as { attributes: object }).attributes).not.toHaveProperty("b");
  });

  test("is told no script and no history", async () => {
    const headers = { ...chosen("4"), "x-millrace-trigger-depth": "3", "x-seen": "yes" };
    const id = idOf(await orders.start({}, { headers }));

    const [record] = await orders.history(id);

    expect(record).toMatchObject({ header: { "x-seen": "yes" } });
    expect(JSON.stringify(record)).not.toContain("x-millrace");
  });

  test("is ignored from peers that are not trusted", async () => {
    const open = await startRuntime({ settings: { "Http.TrustedPeers": ["10.0.0.0/8"] } });
    await open.publish(anOrder());

    const answer = await instancesOf(open, "order").start({}, { headers: chosen("5") });

    expect(idOf(answer)).not.toBe(chosen("5")["x-millrace-instance-id"]);
  });
});

describe("a direct trigger", () => {
  const ship = { domain: defaultDomain, flow: "order", transitionName: "ship" };

  test("sends a transition by key and waits, unless told not to", async () => {
    const id = await orders.begin({ key: "D-1" });

    const { response } = await runTask(app, {
      key: "ships-by-key",
      type: "12",
      config: { ...ship, key: "D-1", body: { carrier: "sea" }, tags: ["shipped"] },
    });

    expect(response).toMatchObject({
      statusCode: 200,
      taskType: "directtrigger",
      data: { id, instanceId: id, key: "D-1", status: "A", attributes: { carrier: "sea" } },
      metadata: { TransitionName: "ship" },
    });
    expect(await orders.read(id)).toMatchObject({
      tags: ["shipped"],
      metadata: { currentState: "shipped" },
    });
  });

  test("prefers the id, and only says that it is accepted without sync", async () => {
    const id = await orders.begin({ key: "D-2" });

    const { response } = await runTask(app, {
      key: "ships-by-id",
      type: "12",
      config: { ...ship, key: "D-other", sync: false },
      input: `task.SetInstance("${id}")`,
    });

    expect(response).toMatchObject({ statusCode: 202, data: { id, status: "B" } });
    await eventually(async () =>
      expect((await orders.read(id)).metadata).toMatchObject({
        status: "A",
        currentState: "shipped",
      }),
    );
  });

  test("without an instance means its own, which is busy with the task", async () => {
    const { response } = await runTask(app, {
      key: "ships-itself",
      type: "12",
      config: { domain: defaultDomain, flow: "ships-itself", transitionName: "again" },
    });

    expect(response).toMatchObject({ isSuccess: false, statusCode: 409 });
  });

  test.each([
    ["an instance that is not there", "ships-nobody", { key: "nobody" }, 404],
    ["a transition of another state", "ships-wrongly", { transitionName: "return" }, 400],
  ])("to %s is refused like a request", async (_what, key, config, statusCode) => {
    const id = await orders.begin({});

    const { response } = await runTask(app, {
      key,
      type: "12",
      config: { ...ship, ...("key" in config ? {} : { instanceId: id }), ...config },
    });

    expect(response).toMatchObject({ isSuccess: false, statusCode });
  });

  test("sends the same idempotency key whenever it is repeated", async () => {
    const id = await orders.begin({ key: "D-once" });
    await runTask(app, { key: "ships-once", type: "12", config: { ...ship, key: "D-once" } });

    expect(movesOf(await orders.history(id))).toEqual(["start: open-open", "ship: open-shipped"]);
    const [, shipped] = await orders.history(id);
    const { "idempotency-key": key } = shipped!["header"] as Record<string, string>;
    const again = await orders.send(id, "ship", { key, attributes: {} });

    expect(again).toMatchObject({ status: 200 });
    expect(await orders.history(id)).toHaveLength(2);
  });
});

describe("a subprocess task", () => {
  test("starts a child that knows its parent, and goes on", async () => {
    const parent = await runTask(app, {
      key: "has-child",
      type: "14",
      config: { domain: defaultDomain, flow: "order", body: { a: 1 }, tags: ["own"] },
      instanceKey: "P-1",
    });

    const data = dataOf(parent) as Record<string, string>;
    expect(parent.response).toMatchObject({ statusCode: 202, taskType: "subprocess" });
    expect(data).toMatchObject({
      status: "B",
      subFlowInstanceId: data["id"],
      correlationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(parent.response?.["metadata"]).toMatchObject({
      SubFlowInstanceId: data["id"],
      CorrelationId: data["correlationId"],
    });
    expect(data["id"]).not.toBe(parent.id);
    expect(parent.instance.metadata.status).toBe("A");
    await eventually(async () =>
      expect(await orders.read(data["id"]!)).toMatchObject({
        attributes: { a: 1 },
        tags: ["parent.key:P-1", "parent.domain:core", "parent.flow:has-child", "own"],
      }),
    );
  });
});

describe("instances that trigger each other", () => {
  test("do so twenty times at most", async () => {
    const again = { domain: defaultDomain, flow: "endless" };
    await app.publish(
      aTask("once-more", "11", again),
      aWorkflow("endless")
        .start("start", { onExecutionTasks: hook("once-more") })
        .state("open")
        .transition("go"),
    );
    const endless = instancesOf(app, "endless");

    await endless.start({});

    await eventually(async () => {
      const all = await endless.list("pageSize=100");
      const items = (all.body as { items: { metadata: { status: string } }[] }).items;
      expect(items.filter((item) => item.metadata.status === "F")).toHaveLength(1);
      expect(items.filter((item) => item.metadata.status === "A")).toHaveLength(20);
      expect(items).toHaveLength(21);
    });
  });

  test("are counted across runtimes", async () => {
    await payments.publish(
      { ...aTask("pay-more", "11", { domain: "payments", flow: "payment" }), domain: "payments" },
      aWorkflow("counted")
        .in("payments")
        .start("start", {
          onExecutionTasks: [
            {
              order: 1,
              task: { key: "pay-more", domain: "payments", flow: "sys-tasks", version: "latest" },
              mapping: { type: "G" },
            },
          ],
        })
        .state("open")
        .transition("go"),
    );
    const counted = instancesOf(payments, "counted", "payments");
    const statusAt = async (depth: string) => {
      const answer = await counted.start({}, { headers: { "x-millrace-trigger-depth": depth } });
      return (answer.body as { status: string }).status;
    };

    expect(await statusAt("19")).toBe("A");
    expect(await statusAt("20")).toBe("F");
  });
});

describe("another domain", () => {
  test("is reached at its address, as the caller", async () => {
    const { response } = await runTask(app, {
      key: "pays",
      type: "11",
      config: {
        domain: "payments",
        flow: "payment",
        key: "PAY-1",
        sync: true,
        tags: ["remote"],
        body: { amount: 5 },
      },
      headers: { act_sub: "agent7", sub: "customer1", role: "teller" },
    });

    expect(response).toMatchObject({
      isSuccess: true,
      statusCode: 200,
      data: {
        key: "PAY-1",
        status: "A",
        attributes: { amount: 5 },
        instanceId: expect.any(String),
      },
    });
    expect(await paid.read("PAY-1")).toMatchObject({
      tags: ["remote"],
      metadata: { createdBy: "agent7", createdByBehalfOf: "customer1" },
    });
    const [record] = await paid.history("PAY-1");
    expect(record).toMatchObject({
      header: { role: "teller", "idempotency-key": expect.stringContaining(":") },
    });
  });

  test("moves instances too, and refuses in its own words", async () => {
    const paymentId = await paid.begin({ key: "PAY-2" });
    const config = { domain: "payments", flow: "payment", transitionName: "ship", key: "PAY-2" };

    const moved = await runTask(app, { key: "pays-on", type: "12", config });
    const refused = await runTask(app, { key: "pays-again", type: "12", config });

    expect(moved.response).toMatchObject({ statusCode: 200, data: { id: paymentId, status: "A" } });
    expect(refused.response).toMatchObject({
      isSuccess: false,
      statusCode: 400,
      metadata: { ErrorCode: "validation.Transition:100020" },
    });
    expect(refused.response?.["errorMessage"]).toContain("ship");
  });

  test("that does not answer is a failure without a status", async () => {
    const { response } = await runTask(app, {
      key: "pays-nowhere",
      type: "11",
      config: { domain: "nowhere", flow: "payment" },
    });

    expect(response).toMatchObject({
      isSuccess: false,
      metadata: { ExceptionType: "HttpRequestException" },
    });
    expect(response).not.toHaveProperty("statusCode");
  });

  test("that takes too long is a cancelled call", async () => {
    const silent = await aSilentServer();
    const patient = await startRuntime({
      settings: { "Domains.Addresses": [`slow=${silent.url}`] },
    });

    const { response } = await runTask(patient, {
      key: "pays-slowly",
      type: "11",
      config: { domain: "slow", flow: "payment", timeoutSeconds: 1 },
    });

    expect(response).toMatchObject({
      isSuccess: false,
      metadata: { ExceptionType: "TaskCanceledException" },
    });
  });

  test("is local where this runtime serves every domain and has no address for it", async () => {
    const every = await startRuntime();
    await every.publish(anOrder("payment").in("payments"));

    const { response } = await runTask(every, {
      key: "pays-here",
      type: "11",
      config: { domain: "payments", flow: "payment", key: "PAY-3", sync: true },
    });

    expect(response).toMatchObject({ statusCode: 200 });
    const here = instancesOf(every, "payment", "payments");
    expect(codeOf(await here.get("PAY-3"))).toBe("200");
  });
});

describe("a task whose result is lost before it is written down", () => {
  let losses = 0;
  const forgetful = startRuntimeForFile({
    faultPoint: (name) => {
      if (name !== "after-task" || losses === 0) return;
      losses -= 1;
      throw new StorageUnavailable("the answer is lost");
    },
    settings: { "Domains.Addresses": [`payments=${payments.url}`] },
  });

  test.each([
    ["11", "start", {}],
    ["11", "start-and-wait", { sync: true }],
    ["14", "subprocess", {}],
  ])("is repeated and starts nothing twice (%s, %s)", async (type, how, config) => {
    const node = await forgetful;
    await node.publish(anOrder(`order-${how}`));
    losses = 3;

    const { instance } = await runTask(node, {
      key: `lost-${how}`,
      type,
      config: { domain: defaultDomain, flow: `order-${how}`, ...config },
      query: "sync=false",
    });

    expect(losses).toBe(0);
    expect(instance.metadata).toMatchObject({ status: "A", currentState: "done" });
    expect(await countOf(node, `order-${how}`)).toBe(1);
  });

  test("is repeated and starts nothing twice (21, of starts)", async () => {
    const node = await forgetful;
    const config = { domain: defaultDomain, flow: "order-each", sync: true };
    await node.publish(anOrder("order-each"), aTask("start-each", "11", config));
    losses = 3;

    const { instance } = await run(node, {
      key: "lost-fan-out",
      task: aTask("lost-fan-out", "21", { itemsPath: "$.list", task: taskRef("start-each") }),
      mapping: { type: "G" },
      data: { list: [1, 2] },
      query: "sync=false",
    });

    expect(losses).toBe(0);
    expect(instance.attributes).toMatchObject({ fanOutResultsSummary: { succeeded: 2 } });
    expect(await countOf(node, "order-each")).toBe(2);
  });

  test("is repeated and moves nothing twice", async () => {
    const node = await forgetful;
    await node.publish(anOrder("walker"));
    const walkers = instancesOf(node, "walker");
    const id = await walkers.begin({});
    losses = 3;

    const { response } = await runTask(node, {
      key: "lost-move",
      type: "12",
      config: { domain: defaultDomain, flow: "walker", instanceId: id, transitionName: "ship" },
      query: "sync=false",
    });

    expect(losses).toBe(0);
    expect(response).toMatchObject({ isSuccess: true, data: { id, status: "A" } });
    expect(movesOf(await walkers.history(id))).toEqual(["start: open-open", "ship: open-shipped"]);
  });

  test("is repeated in another domain too, where it starts nothing twice", async () => {
    losses = 3;

    await runTask(await forgetful, {
      key: "lost-payment",
      type: "11",
      config: { domain: "payments", flow: "payment", body: { lost: "once" }, sync: true },
      query: "sync=false",
    });

    expect(losses).toBe(0);
    const filter = encodeURIComponent('{"attributes":{"lost":{"eq":"once"}}}');
    const { body } = await paid.list(`filter=${filter}`);
    expect((body as { items: object[] }).items).toHaveLength(1);
  });

  const countOf = async (node: TestRuntime, workflow: string) => {
    const { body } = await instancesOf(node, workflow).list("pageSize=100");
    return (body as { items: object[] }).items.length;
  };
});
