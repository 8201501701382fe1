/** Flows within flows within flows: five levels of waiting, and what goes up and down through them. */
import { describe, expect, test } from "vitest";
import { rowsOf } from "../crash/promises.ts";
import { aScriptTask, output, taskWith } from "../support/a-script-slot.ts";
import { auditAtEnd } from "../support/audited.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";
import { between, childOf, childrenOf, descendantsOf, inside } from "../support/subflows.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });
auditAtEnd(app);

const levels = [1, 2, 3, 4, 5];
/** Each level counts on the way down and on the way up. */
const mapping = between(
  "return { Data: { depth: (context.Instance.Data.depth ?? 0) + 1 } };",
  "return { Data: { height: (context.Body.height ?? 0) + 1, from: context.Body.from } };",
);

await app.publish(
  aScriptTask("work"),
  aWorkflow("level-6")
    .state("waiting", { subType: "human" })
    .transition("move", { to: "moved" })
    .transition("break", {
      to: "moved",
      onExecutionTasks: [
        taskWith(
          "work",
          output("if (!context.Instance.Data.fixed) throw new Error('deep down'); return {};"),
        ),
      ],
    })
    .state("moved")
    .transition("finish", { to: "done" })
    .state("done", { type: "finish", subType: "success" })
    .state("gone", { type: "finish", subType: "cancelled" })
    .cancel("drop", { to: "gone" }),
  ...levels.map((level) =>
    aWorkflow(`level-${level}`)
      .state("first")
      .transition("down", { to: "inside", otherwise: true })
      .state("inside", inside(`level-${level + 1}`, { mapping }))
      .transition("up", { to: "done", otherwise: true })
      .state("done", { type: "finish", subType: "success" })
      .state("gone", { type: "finish", subType: "cancelled" })
      .cancel("drop", { to: "gone" })
      .exit("leave", { to: "gone" })
      .timeout("too-late", { to: "gone", after: "P1D" }),
  ),
);
const flowAt = (level: number) => instancesOf(app, `level-${level}`);
const root = flowAt(1);

/** The ids of all six, the root first. */
async function aTower(): Promise<string[]> {
  const id = await root.begin({});
  const tower = [id, ...(await descendantsOf(app, id))];
  expect(tower).toHaveLength(6);
  return tower;
}

const shown = (tower: string[]) =>
  Promise.all(
    tower.map(async (id, i) => {
      const { status, currentState, effectiveState } = (await flowAt(i + 1).read(id)).metadata;
      return `${status} ${currentState} ${effectiveState}`;
    }),
  );
const all = (above: string, leaf: string) => [...levels.map(() => above), leaf];

describe("through five levels", () => {
  test("everyone who waits shows the leaf's state, also after it moves", async () => {
    const tower = await aTower();

    expect(await shown(tower)).toEqual(all("B inside waiting", "A waiting waiting"));
    expect(await root.read(tower[0]!)).toMatchObject({
      metadata: { effectiveStateSubType: "human" },
    });

    const answer = await root.send(tower[0]!, "move");

    expect(answer).toMatchObject({ status: 200, body: { id: tower[0], status: "B" } });
    expect(await shown(tower)).toEqual(all("B inside moved", "A moved moved"));
  });

  test.for(["sync=true", "sync=false"])(
    "the end of the leaf is the end of all (%s)",
    async (query) => {
      const tower = await aTower();
      await root.send(tower[0]!, "move");

      const answer = await root.send(tower[0]!, "finish", { from: "below" }, { query });

      const isSync = query === "sync=true";
      expect(answer).toMatchObject({
        status: isSync ? 200 : 202,
        body: { status: isSync ? "C" : "B" },
      });
      await eventually(async () =>
        expect(await shown(tower)).toEqual(all("C done done", "C done done")),
      );
      expect((await root.read(tower[0]!)).attributes).toEqual({ height: 5, from: "below" });
      expect((await flowAt(6).read(tower[5]!)).attributes).toEqual({ depth: 5, from: "below" });
      expect(movesOf(await root.history(tower[0]!))).toEqual([
        "start: first-first",
        "down: first-inside",
        "up: inside-done",
      ]);
    },
  );

  test("a request may be sent to any of them", async () => {
    const tower = await aTower();

    await flowAt(3).send(tower[2]!, "move");
    await flowAt(5).send(tower[4]!, "finish");

    expect(await shown(tower)).toEqual(all("C done done", "C done done"));
  });

  test("refusals of the leaf come up", async () => {
    const tower = await aTower();

    expect(codeOf(await root.send(tower[0]!, "finish"))).toBe("400 validation.Transition:100020");
    expect(codeOf(await root.send(tower[0]!, "fly"))).toBe("404 notfound.Transition:100004");
  });

  test.for([
    ["drop", 0],
    ["leave", 0],
    ["drop", 2],
    ["drop", 4],
  ] as const)("%s at number %i ends everything below it", async ([transition, at]) => {
    const tower = await aTower();

    await flowAt(at + 1).send(tower[at]!, transition);

    const after = await shown(tower);
    expect(after.slice(at)).toEqual(tower.slice(at).map(() => "C gone gone"));
    // Above, a child that was left by exit or cancel lets its parent go on.
    expect(after.slice(0, at)).toEqual(tower.slice(0, at).map(() => "C done done"));
  });

  test("the timeout of one in the middle ends everything below it", async () => {
    const tower = await aTower();

    await rowsOf(
      app.databaseUrl,
      "update job set ready_at = now() where instance_id = $1 and kind = 'to'",
      [tower[2]],
    );

    await eventually(async () =>
      expect(await shown(tower)).toEqual([
        "C done done",
        "C done done",
        ...tower.slice(2).map(() => "C gone gone"),
      ]),
    );
  });

  test("a fault of the leaf goes up, a retry goes down, and success comes up again", async () => {
    const tower = await aTower();

    const broken = await root.send(tower[0]!, "break");

    expect(broken).toMatchObject({ status: 200, body: { id: tower[0], status: "F" } });
    expect((await shown(tower)).map((it) => it.charAt(0))).toEqual(tower.map(() => "F"));

    const again = await app.post(`${root.path}/${tower[0]}/retry?sync=true`, {});
    expect(again).toMatchObject({ body: { id: tower[5], status: "F" } });
    expect((await shown(tower)).map((it) => it.charAt(0))).toEqual(tower.map(() => "F"));

    const fixed = await app.post(`${root.path}/${tower[0]}/retry?sync=true`, {
      attributes: { fixed: true },
    });

    expect(fixed).toMatchObject({ body: { id: tower[5], status: "A" } });
    expect(await shown(tower)).toEqual(all("B inside moved", "A moved moved"));
    for (const [i, id] of tower.entries()) {
      const incidents = await app.get(`${flowAt(i + 1).path}/${id}/incidents`);
      expect(incidents.body).toMatchObject({
        hasActiveIncident: false,
        items: [{ isResolved: true }, { isResolved: true }],
      });
    }
    await root.send(tower[0]!, "finish");
    expect(await shown(tower)).toEqual(all("C done done", "C done done"));
  });

  test("a retry of the leaf itself does the same", async () => {
    const tower = await aTower();
    await root.send(tower[0]!, "break");

    await app.post(`${flowAt(6).path}/${tower[5]}/retry?sync=true`, {
      attributes: { fixed: true },
    });

    expect(await shown(tower)).toEqual(all("B inside moved", "A moved moved"));
  });

  test("a cancel is refused while they are faulted: a retry is the way on", async () => {
    const tower = await aTower();
    await root.send(tower[0]!, "break");

    expect(codeOf(await root.send(tower[0]!, "drop"))).toBe("400 validation.Instance:100018");
    expect((await shown(tower)).map((it) => it.charAt(0))).toEqual(tower.map(() => "F"));
  });
});

describe("a circle of flows ends in a fault, not in the memory", () => {
  test("when a flow opens itself", async () => {
    await app.publish(
      aWorkflow("ouroboros")
        .state("first")
        .transition("down", { to: "inside", otherwise: true })
        .state("inside", inside("ouroboros"))
        .transition("up", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "ouroboros");

    const started = await flow.start({});

    expect(started).toMatchObject({ status: 200, body: { status: "F" } });
    const { id } = started.body as { id: string };
    const below = await descendantsOf(app, id);
    expect(below).toHaveLength(16);
    const last = await app.get(`${flow.path}/${below.at(-1)}/incidents/active`);
    expect(last.body).toMatchObject({
      errorCode: "Instance:100023",
      message: expect.stringContaining("at most 16") as string,
    });
  });

  test("when a flow starts itself as a subprocess", async () => {
    await app.publish(
      aWorkflow("hydra")
        .state("first")
        .transition("on", { to: "sending", otherwise: true })
        .state("sending", inside("hydra", { type: "P" }))
        .transition("next", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "hydra");

    await flow.start({});

    await eventually(async () => {
      const rows = await rowsOf<{ status: string; count: number }>(
        app.databaseUrl,
        "select status::text as status, count(*)::int as count from instance where flow = 'hydra' group by 1 order by 1",
      );
      expect(rows).toEqual([
        { status: "C", count: 20 },
        { status: "F", count: 1 },
      ]);
    });
  });

  test("also when a subflow lies between", async () => {
    await app.publish(
      aWorkflow("short")
        .state("a")
        .transition("on", { to: "b", otherwise: true })
        .state("b", { type: "finish", subType: "success" }),
      aWorkflow("detour")
        .state("first", { type: "initial" })
        .transition("down", { to: "inside", otherwise: true })
        .state("inside", inside("short"))
        .transition("up", { to: "sending", otherwise: true })
        .state("sending", inside("detour", { type: "P" }))
        .transition("next", { to: "done", otherwise: true })
        .state("done", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "detour");

    await flow.start({});

    await eventually(async () => {
      const rows = await rowsOf<{ status: string; count: number }>(
        app.databaseUrl,
        "select status::text as status, count(*)::int as count from instance where flow = 'detour' group by 1 order by 1",
      );
      expect(rows).toEqual([
        { status: "C", count: 20 },
        { status: "F", count: 1 },
      ]);
    });
  });
});

test("a hundred parents whose children end at once: each goes on once", async () => {
  const ids = await Promise.all(Array.from({ length: 100 }, () => flowAt(5).begin({})));
  const towers: { id: string; child: string }[] = [];
  for (const id of ids) towers.push({ id, child: await childOf(app, id) });

  await Promise.all(
    towers.map(async ({ id, child }, i) => {
      await flowAt(6).send(child, "move");
      const flow = i % 2 === 0 ? flowAt(5) : flowAt(6);
      await flow.send(
        i % 2 === 0 ? id : child,
        "finish",
        {},
        { query: i % 3 === 0 ? "" : "sync=true" },
      );
    }),
  );

  await eventually(async () => {
    for (const { id } of towers) {
      expect(await flowAt(5).read(id)).toMatchObject({
        attributes: { height: 1 },
        metadata: { status: "C" },
      });
    }
  });
  for (const { id } of towers) {
    expect(await flowAt(5).history(id)).toHaveLength(3);
    expect(await childrenOf(app, id)).toMatchObject([{ outcome: "completed", isCompleted: true }]);
  }
});
