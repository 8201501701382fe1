/** A state that opens a subflow or a subprocess: start, what is whose, and the end. */
import { describe, expect, test } from "vitest";
import { rowsOf } from "../crash/promises.ts";
import {
  aMapping,
  aScriptTask,
  handler,
  mappingRef,
  output,
  taskWith,
} from "../support/a-script-slot.ts";
import { auditAtEnd } from "../support/audited.ts";
import { aWebServerForFile } from "../support/a-web-server.ts";
import { aComponent, aWorkflow, expression } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, idOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";
import { between, childOf, childrenOf, inside } from "../support/subflows.ts";

const app = await startRuntimeForFile({
  settings: { "Egress.Allow": ["loopback"] },
  roles: ["api", "worker"],
});
auditAtEnd(app);
/** Answers when the test lets it. */
const held: (() => void)[] = [];
const server = await aWebServerForFile((_asked, _request, response) => {
  held.push(() => response.setHeader("content-type", "application/json").end('{"answer":42}'));
});
const release = () => {
  for (const answer of held.splice(0)) answer();
};

const check = (key = "check") =>
  aWorkflow(key)
    .state("waiting", { subType: "human" })
    .transition("approve", { to: "approved" })
    .transition("ask", { to: "asked", onExecutionTasks: [taskWith("hold", { type: "G" })] })
    .state("asked")
    .transition("approve", { to: "approved" })
    .state("approved", { type: "finish", subType: "success" })
    .state("withdrawn", { type: "finish", subType: "cancelled" })
    .cancel("withdraw", { to: "withdrawn" });

const mapping = between(
  "return { Data: { asked: context.Instance.Data.amount } };",
  "return { Data: { checked: context.Body } };",
);

await app.publish(
  aScriptTask("work"),
  aComponent("sys-tasks", "hold", { type: "6", config: { url: server.url } }),
  aMapping("money", "export const Money = { double: (n: number) => n * 2 };"),
  check(),
  aWorkflow("order")
    .state("open")
    .transition("check", { to: "checking" })
    .state("checking", inside("check", { mapping }))
    .transition("after", { to: "done", rule: "context.Instance.Data.checked != null" })
    .transition("without", { to: "unchecked", otherwise: true })
    .state("unchecked")
    .transition("again", {})
    .state("done", { type: "finish", subType: "success" })
    .state("gone", { type: "finish", subType: "cancelled" })
    .cancel("drop", { to: "gone" })
    .exit("leave", { to: "gone" })
    .shared("note", {})
    .shared("jump", { to: "done" })
    .updateData("amend", {
      onExecutionTasks: [taskWith("work", output("return { Data: { ran: true } };"))],
    }),
);
const orders = instancesOf(app, "order");
const checks = instancesOf(app, "check");

async function anOrderInCheck(body: object = { amount: 7 }) {
  const id = await orders.begin(body);
  await orders.send(id, "check");
  return { id, child: await childOf(app, id) };
}

describe("a subflow starts", () => {
  test("with what the mapping says, and shows its state through the parent", async () => {
    const id = await orders.begin({ amount: 7 });

    const answer = await orders.send(id, "check");

    expect(answer).toMatchObject({ status: 200, body: { id, status: "B" } });
    expect(await orders.read(id)).toMatchObject({
      metadata: {
        status: "B",
        currentState: "checking",
        effectiveState: "waiting",
        effectiveStateSubType: "human",
      },
    });
    expect(await checks.read(await childOf(app, id))).toMatchObject({
      attributes: { asked: 7 },
      metadata: { status: "A", currentState: "waiting" },
    });
    expect(await childrenOf(app, id)).toMatchObject([
      { kind: "S", outcome: null, isCompleted: false },
    ]);
  });

  test("also when the transition is only accepted", async () => {
    const id = await orders.begin({ amount: 7 });

    expect(await orders.send(id, "check", {}, { query: "" })).toMatchObject({ status: 202 });

    await eventually(async () =>
      expect(await orders.read(id)).toMatchObject({ metadata: { effectiveState: "waiting" } }),
    );
  });

  test("with the parent's key and tags that name the parent", async () => {
    const id = await orders.begin({ key: "O-1", attributes: { amount: 1 } });
    await orders.send(id, "check");

    const child = await checks.read("O-1");

    expect(child).toMatchObject({
      id: await childOf(app, id),
      key: "O-1",
      tags: ["parent.key:O-1", "parent.domain:core", "parent.flow:order"],
    });
  });

  test("with the key, tags and headers of the mapping, and the workflow's helpers", async () => {
    await app.publish(
      aWorkflow("own-key")
        .state("open")
        .transition("check", { to: "checking" })
        .state(
          "checking",
          inside("check", {
            mapping: between(
              `return { Key: "C-" + context.Instance.Key, Tags: ["mine"],
                 Data: { twice: Money.double(context.Instance.Data.amount) } };`,
              "return { Data: { four: Money.double(context.Body.twice) } };",
            ),
          }),
        )
        .transition("after", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" })
        .with({ scripts: { helpers: [mappingRef("money")] } }),
    );
    const flow = instancesOf(app, "own-key");
    const id = await flow.begin({ key: "O-2", attributes: { amount: 1 } });
    await flow.send(id, "check");

    expect(await checks.read("C-O-2")).toMatchObject({
      tags: ["parent.key:O-2", "parent.domain:core", "parent.flow:own-key", "mine"],
      attributes: { twice: 2 },
    });
    expect(await flow.send(id, "approve")).toMatchObject({
      body: { status: "C", attributes: { amount: 1, four: 4 } },
    });
  });

  test("without a mapping with the parent's data, and gives nothing back", async () => {
    await app.publish(
      aWorkflow("no-mapping")
        .state("open")
        .transition("check", { to: "checking" })
        .state("checking", inside("check"))
        .transition("after", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "no-mapping");
    const id = await flow.begin({ amount: 7 });
    await flow.send(id, "check");

    expect((await checks.read(await childOf(app, id))).attributes).toEqual({ amount: 7 });
    await flow.send(id, "approve", { by: "me" });

    expect(await flow.read(id)).toMatchObject({
      attributes: { amount: 7 },
      metadata: { status: "C" },
    });
    expect((await flow.read(id)).attributes).not.toHaveProperty("by");
  });

  test("from the start transition, in the initial state, too", async () => {
    await app.publish(
      check("instant").state("approved-at-once", { type: "finish", subType: "success" }),
      aWorkflow("begins-inside")
        .start("start", { to: "checking" })
        .state("first")
        .transition("check", { to: "checking" })
        .state("checking", inside("instant"))
        .transition("after", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "begins-inside");

    const started = await flow.start({});

    expect(started).toMatchObject({ status: 200, body: { status: "B" } });
    expect(await flow.send(idOf(started), "approve")).toMatchObject({ body: { status: "C" } });
  });

  test("and ends at once where nothing holds it, within one synchronous call", async () => {
    await app.publish(
      aWorkflow("no-stop")
        .state("a")
        .transition("on", { to: "b", otherwise: true })
        .state("b", { type: "finish", subType: "success" }),
      aWorkflow("thrice")
        .state("open")
        .transition("go", { to: "one" })
        .state("one", inside("no-stop"))
        .transition("next", { to: "two", otherwise: true })
        .state("two", inside("no-stop"))
        .transition("next", { to: "three", otherwise: true })
        .state("three", inside("no-stop"))
        .transition("next", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "thrice");
    const id = await flow.begin({});

    const answer = await flow.send(id, "go");

    expect(answer).toMatchObject({ status: 200, body: { id, status: "C" } });
    expect(await childrenOf(app, id)).toMatchObject(
      Array.from({ length: 3 }, () => ({ outcome: "completed", isCompleted: true })),
    );
  });

  test("in another domain", async () => {
    await app.publish(
      check("check").in("other"),
      aWorkflow("abroad")
        .state("open")
        .transition("check", { to: "checking" })
        .state("checking", inside("check", { domain: "other", mapping }))
        .transition("after", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "abroad");
    const id = await flow.begin({ amount: 3 });
    await flow.send(id, "check");

    const child = await instancesOf(app, "check", "other").read(await childOf(app, id));

    expect(child).toMatchObject({ attributes: { asked: 3 }, metadata: { status: "A" } });
    expect(await flow.send(id, "approve")).toMatchObject({
      body: { status: "C", attributes: { checked: { asked: 3 } } },
    });
  });
});

describe("a transition sent to the parent", () => {
  test("goes to the child, and the parent goes on when the child is through", async () => {
    const { id } = await anOrderInCheck();

    const answer = await orders.send(id, "approve", { by: "me" });

    expect(answer).toMatchObject({
      status: 200,
      body: { id, status: "C", attributes: { amount: 7, checked: { asked: 7, by: "me" } } },
    });
    expect(movesOf(await orders.history(id))).toEqual([
      "start: open-open",
      "check: open-checking",
      "after: checking-done",
    ]);
    expect(await childrenOf(app, id)).toMatchObject([{ outcome: "completed", isCompleted: true }]);
    expect(await orders.read(id)).toMatchObject({ metadata: { effectiveState: "done" } });
  });

  test("is only accepted with sync=false, and done", async () => {
    const { id, child } = await anOrderInCheck();

    const answer = await orders.send(id, "approve", {}, { query: "" });

    expect(answer).toMatchObject({ status: 202, body: { id, status: "B" } });
    await eventually(async () =>
      expect(await orders.read(id)).toMatchObject({ metadata: { status: "C" } }),
    );
    expect(await checks.read(child)).toMatchObject({ metadata: { status: "C" } });
  });

  test("is refused while the child is busy, and the child's own refusals are the answer", async () => {
    const { id, child } = await anOrderInCheck();
    const asked = server.asked.length;
    const asking = orders.send(id, "ask");
    await eventually(() => expect(server.asked.length).toBe(asked + 1));

    expect(codeOf(await orders.send(id, "approve"))).toBe("409 conflict.Instance:100031");
    expect(codeOf(await checks.send(child, "approve"))).toBe("409 conflict.Instance:100031");
    release();

    expect(await asking).toMatchObject({ status: 200, body: { id, status: "B" } });
    expect(await orders.read(id)).toMatchObject({ metadata: { effectiveState: "asked" } });
    expect(codeOf(await orders.send(id, "nothing"))).toBe("404 notfound.Transition:100004");
    expect(codeOf(await orders.send(id, "ask"))).toBe("400 validation.Transition:100020");
  });

  test("is the parent's own when it is a shared one that stays, or an update of the data", async () => {
    const { id, child } = await anOrderInCheck();

    expect(await orders.send(id, "note", { a: 1 })).toMatchObject({ body: { id, status: "B" } });
    expect(await orders.send(id, "amend", { b: 1 })).toMatchObject({ body: { id, status: "B" } });

    const { attributes, metadata } = await orders.read(id);
    // Beside an open child an update only merges: its tasks do not run.
    expect(attributes).toEqual({ amount: 7, a: 1, b: 1 });
    expect(metadata).toMatchObject({ effectiveState: "waiting", status: "B" });
    expect((await checks.read(child)).attributes).toEqual({ asked: 7 });
    expect(await orders.send(id, "approve")).toMatchObject({ body: { status: "C" } });
  });

  test("is refused when it is a shared one that would leave the child behind", async () => {
    const { id } = await anOrderInCheck();

    expect(codeOf(await orders.send(id, "jump"))).toBe("400 validation.Transition:100023");
    expect(await orders.read(id)).toMatchObject({ metadata: { currentState: "checking" } });
  });

  test("may be sent to the child itself instead", async () => {
    const { id, child } = await anOrderInCheck();

    expect(await checks.send(child, "approve")).toMatchObject({ body: { id: child, status: "C" } });

    expect(await orders.read(id)).toMatchObject({ metadata: { status: "C" } });
  });
});

test.for([
  ["has no such transition", "end"],
  ["has a transition of that name too", "again"],
])(
  "a request repeated after the child has ended runs once, where the parent %s",
  async ([, key]) => {
    const child = `once-${key}`;
    await app.publish(
      aWorkflow(child)
        .state("open")
        .transition(key!, { to: "done" })
        .state("done", { type: "finish", subType: "success" }),
      aWorkflow(`${child}-parent`)
        .state("open")
        .transition("begin", { to: "inside" })
        .state("inside", inside(child))
        .transition("on", { to: "after", otherwise: true })
        .state("after")
        .transition("again", {}),
    );
    const flow = instancesOf(app, `${child}-parent`);
    const id = await flow.begin({});
    await flow.send(id, "begin");
    const body = { key: "K-1", attributes: {} };
    const first = await flow.send(id, key!, body);
    expect(first).toMatchObject({ status: 200, body: { id, status: "A" } });

    const repeated = await flow.send(id, key!, body);
    const accepted = await flow.send(id, key!, body, { query: "sync=false" });

    expect(repeated).toMatchObject({ status: 200, body: first.body as object });
    expect(accepted).toMatchObject({ status: 202 });
    expect(movesOf(await flow.history(id))).toEqual([
      "start: open-open",
      "begin: open-inside",
      "on: inside-after",
    ]);
  },
);

describe("the child ends with its parent", () => {
  test.for(["drop", "cancel", "leave", "exit"])("by %s", async (transition) => {
    const { id, child } = await anOrderInCheck();

    expect(await orders.send(id, transition)).toMatchObject({ body: { id, status: "C" } });

    expect(await checks.read(child)).toMatchObject({
      metadata: { status: "C", currentState: "withdrawn" },
    });
    expect(await childrenOf(app, id)).toMatchObject([{ outcome: "canceled", isCompleted: true }]);
    expect(await orders.read(id)).toMatchObject({ metadata: { effectiveState: "gone" } });
  });

  test("while its task is running", async () => {
    const { id, child } = await anOrderInCheck();
    const asked = server.asked.length;
    const asking = orders.send(id, "ask");
    await eventually(() => expect(server.asked.length).toBe(asked + 1));

    expect(await orders.send(id, "drop")).toMatchObject({ body: { id, status: "C" } });
    release();

    await asking;
    expect(await checks.read(child)).toMatchObject({ metadata: { status: "C" } });
  });

  test("also when somebody is only just starting it: the cancel waits for that", async () => {
    const nobody = "00000000-0000-4000-8000-00000000ca11";
    const job = (kind: string, wait: string) =>
      rowsOf(
        app.databaseUrl,
        `insert into job (id, name, kind, instance_id, payload, ready_at, created_at)
         values (gen_random_uuid(), 'test.' || $2, $2, $1, '{}', now() + $3::interval, now())`,
        [nobody, kind, wait],
      );
    const cancels = () =>
      rowsOf<{ attempts: number }>(
        app.databaseUrl,
        "select attempts from job where instance_id = $1 and kind = 'cc'",
        [nobody],
      );
    await job("sf", "1 hour");
    await job("cc", "0");
    await eventually(async () => expect((await cancels())[0]?.attempts).toBeGreaterThan(2));

    await rowsOf(app.databaseUrl, "delete from job where instance_id = $1 and kind = 'sf'", [
      nobody,
    ]);

    await eventually(async () => expect(await cancels()).toEqual([]));
  });

  test("where it is, when its workflow has no cancel", async () => {
    await app.publish(
      aWorkflow("no-cancel").state("waiting").transition("on", { to: "waiting" }),
      aWorkflow("parent-of-no-cancel")
        .state("open")
        .transition("go", { to: "inside" })
        .state("inside", inside("no-cancel"))
        .state("gone", { type: "finish", subType: "cancelled" })
        .cancel("drop", { to: "gone" }),
    );
    const flow = instancesOf(app, "parent-of-no-cancel");
    const id = await flow.begin({});
    await flow.send(id, "go");
    const child = await childOf(app, id);

    await flow.send(id, "drop");

    expect(await instancesOf(app, "no-cancel").read(child)).toMatchObject({
      metadata: { status: "C", currentState: "waiting" },
    });
  });

  test("when a scheduled transition leaves the parent's state", async () => {
    await app.publish(
      aWorkflow("impatient")
        .state("open")
        .transition("check", { to: "checking" })
        .state("checking", inside("check"))
        .transition("too-slow", { to: "given-up", timer: "PT1H" })
        .state("given-up")
        .transition("again", {}),
    );
    const flow = instancesOf(app, "impatient");
    const id = await flow.begin({});
    await flow.send(id, "check");
    const child = await childOf(app, id);

    await rowsOf(app.databaseUrl, "update job set ready_at = now() where instance_id = $1", [id]);

    await eventually(async () =>
      expect(await checks.read(child)).toMatchObject({ metadata: { currentState: "withdrawn" } }),
    );
    expect(await flow.read(id)).toMatchObject({
      metadata: { status: "A", currentState: "given-up", effectiveState: "given-up" },
    });
  });

  test("when the parent's timeout comes", async () => {
    await app.publish(
      aWorkflow("limited")
        .state("open")
        .transition("check", { to: "checking" })
        .state("checking", inside("check"))
        .state("over", { type: "finish", subType: "timeout" })
        .timeout("too-late", { to: "over", after: "P1D" }),
    );
    const flow = instancesOf(app, "limited");
    const id = await flow.begin({});
    await flow.send(id, "check");
    const child = await childOf(app, id);

    await rowsOf(
      app.databaseUrl,
      "update job set ready_at = now() where instance_id = $1 and kind = 'to'",
      [id],
    );

    await eventually(async () => {
      expect(await flow.read(id)).toMatchObject({
        metadata: { status: "C", currentState: "over" },
      });
      expect(await checks.read(child)).toMatchObject({ metadata: { status: "C" } });
    });
  });
});

describe("what follows from a state that is left or entered is done although a task comes first", () => {
  const call = taskWith("hold", { type: "G" });

  test("the child of a parent that is cancelled ends", async () => {
    await app.publish(
      aWorkflow("told")
        .state("open")
        .transition("check", { to: "checking" })
        .state("checking", inside("check"))
        .state("gone", { type: "finish", subType: "cancelled", onEntries: [call] })
        .cancel("drop", { to: "gone" }),
    );
    const flow = instancesOf(app, "told");
    const id = await flow.begin({});
    await flow.send(id, "check");
    const child = await childOf(app, id);

    const dropping = flow.send(id, "drop");

    await eventually(async () =>
      expect(await checks.read(child)).toMatchObject({ metadata: { status: "C" } }),
    );
    release();
    expect(await dropping).toMatchObject({ body: { status: "C" } });
  });

  test("a subprocess starts", async () => {
    await app.publish(
      aWorkflow("sender-first")
        .state("open")
        .transition("go", { to: "sending" })
        .state("sending", inside("check", { type: "P" }))
        .transition("next", { to: "sent", otherwise: true, onExecutionTasks: [call] })
        .state("sent")
        .transition("again", {}),
    );
    const flow = instancesOf(app, "sender-first");
    const id = await flow.begin({});

    const going = flow.send(id, "go");

    await eventually(async () => {
      const child = await childOf(app, id);
      expect(await checks.get(child)).toMatchObject({ status: 200 });
    });
    release();
    expect(await going).toMatchObject({ body: { status: "A" } });
  });
});

describe("a parent that goes on after its child, and has a task outside", () => {
  const call = taskWith("hold", { type: "G" });

  async function aReturning(key: string) {
    await app.publish(
      aWorkflow(key)
        .state("open")
        .transition("check", { to: "checking" })
        .state("checking", inside("check"))
        .transition("on", { to: "checked", otherwise: true, onExecutionTasks: [call] })
        .transition("remind", { to: "reminded", timer: "P1D" })
        .state("checked")
        .transition("again", {})
        .state("reminded")
        .transition("again", {})
        .state("gone", { type: "finish", subType: "cancelled", onEntries: [call] })
        .cancel("drop", { to: "gone" })
        .updateData("amend"),
    );
    const flow = instancesOf(app, key);
    const id = await flow.begin({});
    await flow.send(id, "check");
    const going = flow.send(id, "approve");
    await eventually(() => expect(held).toHaveLength(1));
    return { flow, id, going };
  }

  test("does so although its data are updated meanwhile", async () => {
    const { flow, id, going } = await aReturning("returning-amended");

    const amended = await flow.send(id, "amend", { a: 1 });
    release();

    expect(amended).toMatchObject({ status: 200, body: { status: "B" } });
    expect(await going).toMatchObject({ status: 200, body: { status: "A" } });
    expect(await flow.read(id)).toMatchObject({
      metadata: { currentState: "checked" },
      attributes: { a: 1 },
    });
  });

  test("is not interrupted by a timer of the state it leaves", async () => {
    const { flow, id, going } = await aReturning("returning-timed");

    const dueNow = "update job set ready_at = now() where instance_id = $1 and kind = 'sx'";
    await rowsOf(app.databaseUrl, dueNow, [id]);
    const putOff = `select 1 from job where instance_id = $1 and kind = 'sx' and attempts > 0
      and owner is null`;
    await eventually(async () =>
      expect(await rowsOf(app.databaseUrl, putOff, [id])).toHaveLength(1),
    );
    release();

    expect(await going).toMatchObject({ status: 200, body: { status: "A" } });
    expect(await flow.read(id)).toMatchObject({ metadata: { currentState: "checked" } });
  });

  test("is ended by its cancel, although that has a task too", async () => {
    const { flow, id, going } = await aReturning("returning-cancelled");

    const dropping = flow.send(id, "drop");
    await eventually(() => expect(held).toHaveLength(2));
    release();

    expect(await dropping).toMatchObject({ status: 200, body: { status: "C" } });
    await going;
    expect(movesOf(await flow.history(id)).slice(2)).toEqual([
      "on: checking-undefined",
      "drop: checking-gone",
    ]);
  });
});

test("a child that is cancelled lets its parent go on, without the output mapping", async () => {
  const { id, child } = await anOrderInCheck();

  expect(await checks.send(child, "withdraw")).toMatchObject({ body: { status: "C" } });

  expect(await orders.read(id)).toMatchObject({
    metadata: { status: "A", currentState: "unchecked" },
  });
  expect((await orders.read(id)).attributes).toEqual({ amount: 7 });
  expect(await childrenOf(app, id)).toMatchObject([{ outcome: "canceled", isCompleted: true }]);
});

describe("a subprocess", () => {
  const errand = aWorkflow("errand")
    .state("waiting")
    .transition("finish", { to: "done" })
    .state("done", { type: "finish", subType: "success" });
  const sender = (key: string) =>
    aWorkflow(key)
      .state("open")
      .transition("go", { to: "sending" })
      .state(
        "sending",
        inside("errand", {
          type: "P",
          mapping: between("return { Data: { from: context.Instance.Data.n } };"),
        }),
      )
      .transition("next", { to: "sending-more", otherwise: true })
      .state("sending-more", inside("errand", { type: "P" }))
      .transition("next", { to: "sent", otherwise: true })
      .state("sent")
      .transition("again", {})
      .state("gone", { type: "finish", subType: "cancelled" })
      .cancel("drop", { to: "gone" });

  test("holds nobody up: the parent goes on at once, and every state starts its own", async () => {
    await app.publish(errand, sender("sender"));
    const flow = instancesOf(app, "sender");
    const errands = instancesOf(app, "errand");
    const id = await flow.begin({ key: "S-1", attributes: { n: 5 } });

    expect(await flow.send(id, "go")).toMatchObject({ body: { id, status: "A" } });

    const children = await childrenOf(app, id);
    expect(children).toMatchObject([
      { kind: "P", state: "sending", outcome: null, isCompleted: false },
      { kind: "P", state: "sending-more", outcome: null, isCompleted: false },
    ]);
    expect(await flow.read(id)).toMatchObject({
      metadata: { currentState: "sent", effectiveState: "sent" },
    });
    const first = await errands.read(children[0]!.child);
    expect(first).toMatchObject({ attributes: { from: 5 }, metadata: { status: "A" } });
    expect(first).not.toHaveProperty("key");
    expect((await errands.read(children[1]!.child)).attributes).toEqual({ n: 5 });

    await errands.send(children[0]!.child, "finish");
    await flow.send(id, "drop");

    expect(await childrenOf(app, id)).toMatchObject([
      { outcome: "completed", isCompleted: true },
      { outcome: null, isCompleted: false },
    ]);
    expect(await errands.read(children[1]!.child)).toMatchObject({ metadata: { status: "A" } });
  });

  test("of a state that was entered starts also when what follows fails, and only once", async () => {
    await app.publish(
      aWorkflow("sender-fails")
        .state("open")
        .transition("go", { to: "sending" })
        .state("sending", inside("errand", { type: "P" }))
        .transition("next", {
          to: "sent",
          rule: handler("if (!context.Instance.Data.fixed) throw new Error('no'); return true;"),
        })
        .state("sent")
        .transition("again", {}),
    );
    const flow = instancesOf(app, "sender-fails");
    const id = await flow.begin({});

    expect(await flow.send(id, "go")).toMatchObject({ body: { status: "F" } });
    const retried = await app.post(`${flow.path}/${id}/retry?sync=true`, {
      attributes: { fixed: true },
    });

    expect(retried).toMatchObject({ body: { status: "A" } });
    expect(await childrenOf(app, id)).toHaveLength(1);
  });

  test("that faults is nobody else's trouble", async () => {
    await app.publish(
      aWorkflow("failing-errand")
        .start("start", {
          onExecutionTasks: [taskWith("work", output("throw new Error('broken');"))],
        })
        .state("open"),
      aWorkflow("careless")
        .state("open")
        .transition("go", { to: "sending" })
        .state("sending", inside("failing-errand", { type: "P" }))
        .transition("again", {}),
    );
    const flow = instancesOf(app, "careless");
    const id = await flow.begin({});

    expect(await flow.send(id, "go")).toMatchObject({ body: { status: "A" } });

    expect(await childrenOf(app, id)).toMatchObject([{ outcome: "faulted", isCompleted: true }]);
    expect(await flow.read(id)).toMatchObject({ metadata: { incident: { totalCount: 0 } } });
  });
});

describe("a parent replaces in its child", () => {
  const clerk = { headers: { role: "clerk" } };
  const boss = { headers: { role: "boss" } };
  const only = (role: string) => [{ role, grant: "allow" }];
  const overridden = () =>
    app.publish(
      aWorkflow("replaced")
        .state("waiting", { queryRoles: only("clerk") })
        .transition("approve", { to: "approved", roles: only("clerk") })
        .transition("break", {
          to: "approved",
          roles: only("clerk"),
          onExecutionTasks: [
            taskWith(
              "work",
              output("if (!context.Instance.Data.fixed) throw new Error('broken'); return {};"),
            ),
          ],
        })
        .state("approved", { type: "finish", subType: "success" })
        .state("late", { type: "finish", subType: "timeout" })
        .state("later", { type: "finish", subType: "timeout" })
        .timeout("own-timeout", { to: "late", after: "P9D" }),
      aWorkflow("replacing")
        .state("open")
        .transition("go", { to: "inside" })
        .state(
          "inside",
          inside("replaced", {
            overrides: {
              transitions: {
                approve: { roles: only("boss") },
                break: { roles: only("boss") },
              },
              states: { waiting: { queryRoles: only("boss") } },
              timeout: {
                key: "parent-timeout",
                target: "later",
                versionStrategy: "Patch",
                timer: { reset: "N", duration: "P1D" },
              },
            },
          }),
        )
        .transition("next", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" }),
    );

  test("roles of transitions and of reads, and the timeout, each as a whole", async () => {
    await overridden();
    const flow = instancesOf(app, "replacing");
    const children = instancesOf(app, "replaced");
    const id = await flow.begin({});
    await flow.send(id, "go");
    const child = await childOf(app, id);
    const timeouts = await rowsOf<{ days: number }>(
      app.databaseUrl,
      "select round(extract(epoch from ready_at - now()) / 86400)::int as days from job where instance_id = $1 and kind = 'to'",
      [child],
    );

    expect(timeouts).toEqual([{ days: 1 }]);
    expect(codeOf(await flow.send(id, "approve", {}, clerk))).toBe(
      "403 forbidden.Authorization:110001",
    );
    expect(codeOf(await app.get(`${children.path}/${child}/incidents`, clerk.headers))).toBe(
      "403 forbidden.Authorization:110001",
    );
    expect(await app.get(`${children.path}/${child}/incidents`, boss.headers)).toMatchObject({
      status: 200,
    });
    expect(await flow.send(id, "approve", {}, boss)).toMatchObject({ body: { status: "C" } });

    const free = await children.begin({});
    expect(await children.send(free, "approve", {}, clerk)).toMatchObject({
      body: { status: "C" },
    });
  });

  test("who may send data with a retry", async () => {
    const flow = instancesOf(app, "replacing");
    const id = await flow.begin({});
    await flow.send(id, "go");
    await flow.send(id, "break", {}, boss);
    const path = `${flow.path}/${id}/retry?sync=true`;
    const fixed = { attributes: { fixed: true } };

    expect(codeOf(await app.post(path, fixed, clerk.headers))).toBe(
      "403 forbidden.Authorization:110001",
    );
    expect(await app.post(path, fixed, boss.headers)).toMatchObject({ body: { status: "C" } });
  });

  test("the state a timeout leads to", async () => {
    const flow = instancesOf(app, "replacing");
    const id = await flow.begin({});
    await flow.send(id, "go");
    const child = await childOf(app, id);

    await rowsOf(
      app.databaseUrl,
      "update job set ready_at = now() where instance_id = $1 and kind = 'to'",
      [child],
    );

    await eventually(async () =>
      expect(await flow.read(id)).toMatchObject({ metadata: { status: "C" } }),
    );
    const children = instancesOf(app, "replaced");
    expect(movesOf(await children.history(child))).toEqual([
      "start: waiting-waiting",
      "parent-timeout: waiting-later",
    ]);
  });
});

describe("POST …/sub/instances/start", () => {
  const path = "/api/v1/core/workflows/sub-target/sub/instances/start";

  test("answers with the standard envelope, without the output script", async () => {
    await app.publish(
      aWorkflow("sub-target")
        .state("waiting")
        .transition("on", { to: "waiting" })
        .with({ output: output("return { Data: { replaced: true } };") }),
    );
    const id = "0b5b9a4e-6c8e-4c64-9a53-0d9a1f5d9f01";

    const first = await app.post(`${path}?sync=true`, { id, key: "SUB-1", attributes: { a: 1 } });

    expect(first).toMatchObject({ status: 200, body: { id, key: "SUB-1", status: "A" } });
    expect(first.body).not.toHaveProperty("replaced");
    expect((await instancesOf(app, "sub-target").read(id)).attributes).toEqual({ a: 1 });
  });

  test("is 409 for an id or a key in use, and 400 for an id that is none", async () => {
    const id = "0b5b9a4e-6c8e-4c64-9a53-0d9a1f5d9f02";
    await app.post(`${path}?sync=true`, { id, key: "SUB-2", attributes: {} });

    const sameId = await app.post(`${path}?sync=true`, { id, attributes: {} });
    const sameKey = await app.post(`${path}?sync=true`, { key: "SUB-2", attributes: {} });

    expect(codeOf(sameId)).toBe("409 conflict.Instance:100025");
    expect(codeOf(sameKey)).toBe("409 conflict.Instance:100025");
    expect(await app.post(path, { id: "no-uuid", attributes: {} })).toMatchObject({ status: 400 });
  });

  test("is 200 also when it is only accepted", async () => {
    expect(await app.post(path, { attributes: {} })).toMatchObject({
      status: 200,
      body: { status: "B" },
    });
  });
});

test("a subflow's rule sees what the child handed over", async () => {
  await app.publish(
    aWorkflow("by-outcome")
      .state("open")
      .transition("check", { to: "checking" })
      .state("checking", inside("check", { mapping }))
      .transition("good", {
        to: "good",
        rule: expression("context.Instance.Data.checked.ok == true"),
      })
      .transition("bad", { to: "bad", otherwise: true })
      .state("good")
      .transition("again", {})
      .state("bad")
      .transition("again", {}),
  );
  const flow = instancesOf(app, "by-outcome");
  for (const [ok, state] of [
    [true, "good"],
    [false, "bad"],
  ] as const) {
    const id = await flow.begin({ amount: 1 });
    await flow.send(id, "check");
    await flow.send(id, "approve", { ok });

    expect(await flow.read(id)).toMatchObject({ metadata: { status: "A", currentState: state } });
  }
});
