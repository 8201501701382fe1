import { afterAll, describe, expect, test } from "vitest";
import { Client } from "pg";
import { aWorkflow, hook } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { gatedTask, gatedTasks } from "../support/gated-tasks.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile, type Answer } from "../support/start-runtime.ts";

const tasks = gatedTasks();
const app = await startRuntimeForFile({ tasks, roles: ["api", "worker"] });
const other = await startRuntimeForFile({ databaseUrl: app.databaseUrl, tasks });
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());

await app.publish(
  gatedTask("call"),
  aWorkflow("order")
    .state("open")
    .transition("pay", { to: "checking" })
    .transition("note", {})
    .transition("slow", { to: "paid", onExecutionTasks: hook("call") })
    .transition("broken", { to: "paid", onExecutionTasks: hook("nobody-knows-it") })
    .state("checking")
    .transition("on", { to: "paid", otherwise: true })
    .state("paid")
    .transition("ship", { to: "shipped" })
    .transition("note", {})
    .state("shipped", { type: "finish" })
    .state("gone", { type: "finish" })
    .cancel("withdraw", { to: "gone" })
    .updateData("amend"),
);
const orders = instancesOf(app, "order");
const elsewhere = instancesOf(other, "order");
const queued = { query: "sync=false" };

const keyed = (attributes: object, key = "once") => ({ key, attributes });
const repeated = <T>(count: number, work: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => work(i)));
const bodies = (answers: Answer[]) => new Set(answers.map((a) => `${a.status} ${a.text}`));
const settled = (id: string) =>
  eventually(async () => {
    const instance = await orders.read(id);
    expect(instance.metadata.status).not.toBe("B");
    return instance;
  });

describe("a repeat with the same key", () => {
  test("is answered like the first, and nothing runs twice", async () => {
    const id = await orders.begin({ a: 1 });

    const first = await orders.send(id, "pay", keyed({ b: 2 }));
    const again = await orders.send(id, "pay", keyed({ b: 2 }));

    expect(first).toMatchObject({ status: 200, body: { status: "A", attributes: { a: 1, b: 2 } } });
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(again.headers["x-workflow"]).toBe(first.headers["x-workflow"]);
    expect(await orders.history(id)).toHaveLength(3);
  });

  test("is answered like the first also when the payload differs: it is not looked at", async () => {
    const id = await orders.begin();

    const first = await orders.send(id, "pay", keyed({ b: 2 }));
    const again = await orders.send(id, "pay", keyed({ b: 99, c: 1 }));

    expect(again.body).toEqual(first.body);
    expect((await orders.read(id)).attributes).toEqual({ b: 2 });
  });

  test("has the status and data of then, also when the instance has moved on", async () => {
    const id = await orders.begin({ n: 0 });
    const first = await orders.send(id, "pay", keyed({ n: 1 }));
    await orders.send(id, "note", { attributes: { n: 2, more: true } });
    await orders.send(id, "ship", { attributes: { n: 3 } });

    const again = await orders.send(id, "pay", keyed({ n: 1 }));

    expect(again).toMatchObject({ status: 200, body: { status: "A", attributes: { n: 1 } } });
    const { entityEtag } = first.body as { entityEtag: string };
    expect(again.body).toMatchObject({ entityEtag });
    expect((again.body as { attributes: object }).attributes).toEqual({ n: 1 });
    expect((await orders.read(id)).metadata.status).toBe("C");
  });

  test("of what ended the instance is its end again", async () => {
    const id = await orders.begin();

    const first = await orders.send(id, "cancel", keyed({ why: "x" }));
    const byAlias = await orders.send(id, "CANCEL", keyed({ why: "x" }));
    const byKey = await orders.send(id, "withdraw", keyed({ why: "x" }));

    expect(first).toMatchObject({ status: 200, body: { status: "C" } });
    expect(bodies([first, byAlias, byKey]).size).toBe(1);
    expect(codeOf(await orders.send(id, "cancel", keyed({}, "other")))).toBe(
      "400 validation.Instance:100018",
    );
  });

  test("of what faulted the instance is the fault again", async () => {
    const id = await orders.begin();

    const first = await orders.send(id, "broken", keyed({}));
    const again = await orders.send(id, "broken", keyed({}));

    expect(first).toMatchObject({ status: 200, body: { status: "F" } });
    expect(again.body).toEqual(first.body);
    expect((await orders.read(id)).metadata).toMatchObject({ incident: { totalCount: 1 } });
  });

  test("of what was refused is looked at anew", async () => {
    const id = await orders.begin();

    const first = await orders.send(id, "ship", keyed({}));
    await orders.send(id, "pay");
    const again = await orders.send(id, "ship", keyed({}));

    expect(codeOf(first)).toBe("400 validation.Transition:100020");
    expect(again).toMatchObject({ status: 200, body: { status: "C" } });
  });

  test("may come to another node", async () => {
    const id = await orders.begin({ key: "N-1" });

    const first = await orders.send(id, "pay", keyed({ a: 1 }));
    const again = await elsewhere.send("N-1", "pay", keyed({ a: 1 }));

    expect(again.body).toEqual(first.body);
  });
});

describe("another request is", () => {
  test("the same key on another transition", async () => {
    const id = await orders.begin();

    await orders.send(id, "note", keyed({ a: 1 }));
    await orders.send(id, "pay", keyed({ b: 1 }));

    expect((await orders.read(id)).attributes).toEqual({ a: 1, b: 1 });
  });

  test("the same key on another instance", async () => {
    const [one, two] = [await orders.begin(), await orders.begin()];

    await orders.send(one, "note", keyed({ a: 1 }));
    await orders.send(two, "note", keyed({ a: 2 }));

    expect((await orders.read(two)).attributes).toEqual({ a: 2 });
  });

  test("another key on the same transition, and none at all", async () => {
    const id = await orders.begin();

    for (const key of ["one", "two", undefined, undefined, " "]) {
      await orders.send(id, "note", { key, attributes: {} });
    }

    expect(await orders.history(id)).toHaveLength(6);
  });
});

describe("50 repeats at once", () => {
  test.each<[string, (i: number) => typeof orders]>([
    ["on one node", () => orders],
    ["spread over two nodes", (i) => (i % 2 === 0 ? orders : elsewhere)],
  ])("%s all get the one outcome", async (_, nodeOf) => {
    const id = await orders.begin({ a: 1 });

    const answers = await repeated(50, (i) => nodeOf(i).send(id, "pay", keyed({ b: 2 })));

    expect([...bodies(answers)]).toEqual([expect.stringMatching(/^200 /)]);
    expect(answers[0]?.body).toMatchObject({ status: "A", attributes: { a: 1, b: 2 } });
    expect(await orders.history(id)).toHaveLength(3);
  });

  test.each<[string, (i: number) => typeof orders]>([
    ["on one node", () => orders],
    ["spread over two nodes", (i) => (i % 2 === 0 ? orders : elsewhere)],
  ])("queued %s are accepted alike, and run once", async (_, nodeOf) => {
    const id = await orders.begin({ key: crypto.randomUUID() });

    const answers = await repeated(50, (i) => nodeOf(i).send(id, "pay", keyed({ b: 2 }), queued));

    expect([...bodies(answers)]).toEqual([expect.stringMatching(/^202 .*"status":"B"/)]);
    expect((await settled(id)).attributes).toEqual({ b: 2 });
    expect(await orders.history(id)).toHaveLength(3);
  });

  test("of an update of the data merge it once", async () => {
    const id = await orders.begin();

    const answers = await repeated(50, (i) =>
      (i % 2 === 0 ? orders : elsewhere).send(id, "amend", keyed({ n: 1 })),
    );

    expect(bodies(answers).size).toBe(1);
    expect(await orders.history(id)).toHaveLength(2);
  });
});

test("1,000 repeats have one effect", async () => {
  const id = await orders.begin();

  const clients = await repeated(20, async (i) => {
    const mine: Answer[] = [];
    for (let n = 0; n < 50; n += 1) {
      mine.push(await (i % 2 === 0 ? orders : elsewhere).send(id, "pay", keyed({ n: 1 })));
    }
    return mine;
  });

  expect(bodies(clients.flat()).size).toBe(1);
  expect(await orders.history(id)).toHaveLength(3);
});

describe("queued with a key", () => {
  test("a repeat is the same 202, before and after the work is done", async () => {
    const id = await orders.begin();

    const first = await orders.send(id, "slow", keyed({ a: 1 }), queued);
    await tasks.waiting("call");
    const during = await orders.send(id, "slow", keyed({ a: 1 }), queued);
    const fromOther = await elsewhere.send(id, "slow", keyed({ a: 1 }), queued);
    tasks.open("call");
    await settled(id);
    const after = await orders.send(id, "slow", keyed({ a: 1 }), queued);

    expect(first).toMatchObject({ status: 202, body: { status: "B" } });
    expect(bodies([first, during, fromOther, after]).size).toBe(1);
    expect(await orders.history(id)).toHaveLength(2);
  });

  test("a repeat that wants to wait gets the outcome when the work is done", async () => {
    const id = await orders.begin();
    await orders.send(id, "slow", keyed({ a: 1 }), queued);
    await tasks.waiting("call");

    const waiting = [
      orders.send(id, "slow", keyed({ a: 1 })),
      elsewhere.send(id, "slow", keyed({ a: 1 })),
    ];
    tasks.open("call", { b: 2 });

    for (const answer of await Promise.all(waiting)) {
      expect(answer).toMatchObject({
        status: 200,
        body: { status: "A", attributes: { a: 1, b: 2 } },
      });
    }
    expect(await orders.history(id)).toHaveLength(2);
  });

  test("a repeat of what a cancel has ended gets that end", async () => {
    const id = await orders.begin();
    await orders.send(id, "slow", keyed({ a: 1 }), queued);
    await tasks.waiting("call");
    const waiting = orders.send(id, "slow", keyed({ a: 1 }));

    await orders.send(id, "cancel");
    tasks.open("call");

    expect(await waiting).toMatchObject({ status: 200, body: { status: "C" } });
  });
});

test("a synchronous repeat waits for the first, whichever node has it", async () => {
  const id = await orders.begin();
  const first = orders.send(id, "slow", keyed({ a: 1 }));
  await tasks.waiting("call");

  const repeats = [
    orders.send(id, "slow", keyed({ a: 1 })),
    elsewhere.send(id, "slow", keyed({ a: 1 })),
  ];
  const stranger = await orders.send(id, "slow", keyed({ a: 1 }, "another"));
  tasks.open("call", { b: 2 });

  expect(codeOf(stranger)).toBe("409 conflict.Instance:100031");
  const answers = await Promise.all([first, ...repeats]);
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 200, body: { attributes: { a: 1, b: 2 } } });
  }
  expect(await orders.history(id)).toHaveLength(2);
});

test("the same key may be used again by another instance of the same business key", async () => {
  await orders.begin({ key: "B-1" });
  await orders.send("B-1", "cancel", keyed({}));
  await orders.begin({ key: "B-1" });

  const answer = await orders.send("B-1", "cancel", keyed({ second: true }));

  expect(answer).toMatchObject({ body: { status: "C", attributes: { second: true } } });
});

test("whoever may not send a transition does not get its outcome by knowing its key", async () => {
  const roles = [{ role: "clerk", grant: "allow" }];
  const others = [{ role: "$PreviousUser", grant: "deny" }];
  await app.publish(
    aWorkflow("secret")
      .state("open")
      .transition("seal", { to: "sealed", roles })
      .transition("sign", { to: "sealed", roles: others })
      .state("sealed"),
  );
  const secrets = instancesOf(app, "secret");
  const clerk = { headers: { role: "clerk", act_sub: "ada" } };
  const sealed = await secrets.begin({}, { headers: { act_sub: "eve" } });
  const signed = await secrets.begin({}, { headers: { act_sub: "eve" } });

  const first = await secrets.send(sealed, "seal", keyed({ a: 1 }), clerk);
  const again = await secrets.send(sealed, "seal", keyed({}), clerk);
  const stranger = await secrets.send(sealed, "seal", keyed({}));
  const strangerQueued = await secrets.send(sealed, "seal", keyed({}), queued);
  const ada = { headers: { act_sub: "ada" } };
  const sign = await secrets.send(signed, "sign", keyed({}), ada);
  // By now she is the previous user; it is still her own request.
  const signAgain = await secrets.send(signed, "sign", keyed({}), ada);

  expect([first, again].map(codeOf)).toEqual(["200", "200"]);
  expect([stranger, strangerQueued].map(codeOf)).toEqual([
    "403 forbidden.Authorization:110001",
    "403 forbidden.Authorization:110001",
  ]);
  expect([sign, signAgain].map(codeOf)).toEqual(["200", "200"]);
});
