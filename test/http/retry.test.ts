/** `POST …/retry`: the failed work goes on from where it failed. */
import { describe, expect, test } from "vitest";
import { auditOf, rowsOf } from "../crash/promises.ts";
import { aFailingServerForFile } from "../support/a-failing-server.ts";
import { aScriptTask, output, slot, taskWith } from "../support/a-script-slot.ts";
import { auditAtEnd } from "../support/audited.ts";
import { aWebServerForFile } from "../support/a-web-server.ts";
import { aComponent, aSchema, aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, idOf, instancesOf, movesOf, type Instances } from "../support/instances-of.ts";
import { startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const settings = { "Egress.Allow": ["loopback"], "Database.PoolSize": 8 };
const app = await startRuntimeForFile({ settings, roles: ["api", "worker"] });
auditAtEnd(app);
const server = await aFailingServerForFile();
/** The first call of each path is never answered. */
const slow = await aWebServerForFile(({ url }, _request, response) => {
  if (slow.asked.filter((it) => it.url === url).length > 1) response.end("{}");
});

/** Throws until the data say `fixed`. */
const unlessFixed = "if (!context.Instance.Data.fixed) throw new Error('not fixed');";
const brittle = (order = 1) =>
  taskWith("script", output(`${unlessFixed} return { Data: { worked: true } };`), order);

await app.publish(
  aScriptTask("script"),
  aSchema("amounts", { type: "object", properties: { amount: { type: "number" } } }),
  aWorkflow("order")
    .state("open")
    .transition("go", { to: "done", onExecutionTasks: [brittle()] })
    .transition("guarded", {
      to: "done",
      onExecutionTasks: [brittle()],
      roles: [{ role: "clerk", grant: "allow" }],
    })
    .transition("guarded-chain", { to: "middle", roles: [{ role: "clerk", grant: "allow" }] })
    .state("middle")
    .transition("on", { to: "done", otherwise: true, onExecutionTasks: [brittle()] })
    .state("done")
    .transition("again", {})
    .updateData("amend", { onExecutionTasks: [brittle()] })
    .schema("amounts"),
);
const orders = instancesOf(app, "order");

const retry = (
  flow: Instances,
  id: string,
  body: unknown = {},
  query = "sync=true",
  headers = {},
) => app.post(`${flow.path}/${id}/retry?${query}`, body, headers);
const fixed = { attributes: { fixed: true } };

async function aFaulted(flow: Instances = orders, transition = "go"): Promise<string> {
  const id = await flow.begin({});
  expect(await flow.send(id, transition)).toMatchObject({ status: 200, body: { status: "F" } });
  return id;
}

const incidentsOf = async (flow: Instances, id: string) =>
  ((await app.get(`${flow.path}/${id}/incidents`)).body as { items: object[] }).items;

describe("a retry", () => {
  test("that works goes on with the same record and closes all incidents", async () => {
    const id = await aFaulted();
    await retry(orders, id);
    const [, before] = await orders.history(id);

    const answer = await retry(orders, id, fixed);

    expect(answer).toMatchObject({
      status: 200,
      body: { id, status: "A", retriedTransitionId: before!.id },
    });
    expect(await orders.read(id)).toMatchObject({
      attributes: { fixed: true, worked: true },
      metadata: {
        currentState: "done",
        incident: { hasActiveIncident: false, totalCount: 2 },
      },
    });
    expect(movesOf(await orders.history(id))).toEqual(["start: open-open", "go: open-done"]);
    expect(await incidentsOf(orders, id)).toMatchObject([
      { isResolved: true },
      { isResolved: true },
    ]);
  });

  test("that fails is 200 with status F, and another one is accepted", async () => {
    const id = await aFaulted();

    for (let i = 0; i < 3; i += 1) {
      expect(await retry(orders, id)).toMatchObject({ status: 200, body: { id, status: "F" } });
    }

    expect(await incidentsOf(orders, id)).toMatchObject([
      { isResolved: false, retryCount: 0 },
      { isResolved: true, retryCount: 1 },
      { isResolved: true, retryCount: 1 },
      { isResolved: true, retryCount: 1 },
    ]);
  });

  test("without sync is accepted with status B and done", async () => {
    const id = await aFaulted();

    const answer = await retry(orders, id, fixed, "");

    expect(answer).toMatchObject({ status: 200, body: { id, status: "B" } });
    await eventually(async () =>
      expect(await orders.read(id)).toMatchObject({
        metadata: { status: "A", currentState: "done" },
      }),
    );
  });

  test("needs no body", async () => {
    const id = await aFaulted();

    expect(await app.post(`${orders.path}/${id}/retry?sync=true`)).toMatchObject({
      status: 200,
      body: { status: "F" },
    });
  });

  test("reads the envelope whatever the payload mode says", async () => {
    const id = await aFaulted();

    const headers = { "x-service-payload-mode": "raw" };
    expect(await retry(orders, id, fixed, "sync=true", headers)).toMatchObject({
      body: { status: "A" },
    });
    expect((await orders.read(id)).attributes).toEqual({ fixed: true, worked: true });
  });

  test("finds the instance by its key", async () => {
    const answer = await orders.start({ key: "R-1", attributes: {} });
    await orders.send("R-1", "go");

    expect(await retry(orders, "R-1", fixed)).toMatchObject({
      body: { id: idOf(answer), status: "A" },
    });
  });

  test("sets stage and tags, when it brings some", async () => {
    const id = await aFaulted();

    await retry(orders, id, { ...fixed, stage: "second", tags: ["retried"] });

    expect(await orders.read(id)).toMatchObject({
      tags: ["retried"],
      metadata: { stage: "second" },
    });
  });

  test("repeats no call that has succeeded", async () => {
    await app.publish(
      server.task("first-call", 200),
      server.task("second-call", 503, 503, 200),
      aWorkflow("calls")
        .state("open")
        .transition("go", {
          to: "done",
          onExecutionTasks: [
            taskWith("first-call", { type: "G" }, 1),
            taskWith("second-call", { type: "G" }, 2),
          ],
        })
        .state("done"),
    );
    const calls = instancesOf(app, "calls");
    const id = await aFaulted(calls);

    expect(await retry(calls, id)).toMatchObject({ body: { status: "F" } });
    expect(await retry(calls, id)).toMatchObject({ body: { status: "A" } });

    expect([server.calls("first-call"), server.calls("second-call")]).toEqual([1, 3]);
    expect((await calls.read(id)).attributes).toEqual({
      "from-first-call": 1,
      "from-second-call": 3,
    });
  });
});

describe("a retry is refused", () => {
  test("of an instance that is not faulted: 400", async () => {
    const id = await orders.begin({});

    expect(codeOf(await retry(orders, id))).toBe("400 validation.Instance:100027");
  });

  test("of an unknown instance: 404", async () => {
    expect(codeOf(await retry(orders, "nobody"))).toBe("404 notfound.Instance:100017");
  });

  test("when nothing is known that could go on: 400", async () => {
    const id = await aFaulted();
    await rowsOf(app.databaseUrl, "update incident set resume = null where instance_id = $1", [id]);

    expect(codeOf(await retry(orders, id))).toBe("400 validation.Instance:100028");
  });

  test("with data that the master schema refuses: 400, and nothing has happened", async () => {
    const id = await aFaulted();

    expect(await retry(orders, id, { attributes: { amount: "many" } })).toMatchObject({
      status: 400,
    });
    expect(await orders.read(id)).toMatchObject({
      metadata: { status: "F", incident: { totalCount: 1, hasActiveIncident: true } },
    });
  });

  test.for(["guarded", "guarded-chain"])(
    "with data, to who may not send the transition that led to it: %s",
    async (transition) => {
      const clerk = { headers: { role: "clerk" } };
      const id = await orders.begin({});
      await orders.send(id, transition, {}, clerk);

      expect(codeOf(await retry(orders, id, fixed))).toBe("403 forbidden.Authorization:110001");
      expect(await retry(orders, id)).toMatchObject({ status: 200, body: { status: "F" } });
      expect(await retry(orders, id, fixed, "sync=true", clerk.headers)).toMatchObject({
        body: { status: "A" },
      });
    },
  );
});

describe("two retries at once", () => {
  test.for(["sync=true", "sync=false"])(
    "one runs, the other finds no fault (%s)",
    async (query) => {
      const id = await aFaulted();

      const answers = await Promise.all([1, 2, 3, 4].map(() => retry(orders, id, fixed, query)));

      expect(answers.map(codeOf).toSorted()).toEqual([
        "200",
        "400 validation.Instance:100027",
        "400 validation.Instance:100027",
        "400 validation.Instance:100027",
      ]);
      await eventually(async () =>
        expect(await orders.read(id)).toMatchObject({ metadata: { currentState: "done" } }),
      );
      expect(movesOf(await orders.history(id))).toEqual(["start: open-open", "go: open-done"]);
    },
  );
});

describe("a retry goes on after a fault", () => {
  const timer = slot(
    `import { TimerSchedule } from "millrace/script";
     export function Handler(context) { ${unlessFixed} return TimerSchedule.FromDuration("PT1H"); }`,
  );
  const condition = slot(`export function Handler(context) { ${unlessFixed} return true; }`);

  test("in a mapping: the payload is mapped anew, with what every retry has brought", async () => {
    await app.publish(
      aWorkflow("in-mapping")
        .state("open")
        .transition("go", {
          to: "done",
          mapping: slot(`export function Handler(context) {
            const { a, b, c } = context.Body;
            if (a !== 1 || b !== 2 || c !== 3) throw new Error('incomplete');
            return { a, b, c, mapped: true };
          }`),
        })
        .state("done"),
    );
    const flow = instancesOf(app, "in-mapping");
    const id = await flow.begin({});
    await flow.send(id, "go", { a: 1 });

    expect(await retry(flow, id, { attributes: { b: 2 } })).toMatchObject({
      body: { status: "F" },
    });
    expect(await retry(flow, id, { attributes: { c: 3 } })).toMatchObject({
      body: { status: "A" },
    });

    expect((await flow.read(id)).attributes).toEqual({ a: 1, b: 2, c: 3, mapped: true });
  });

  test.for<[what: string, state: string, build: (flow: WorkflowBuilder) => WorkflowBuilder]>([
    [
      "rule",
      "done",
      (flow) => flow.state("next").transition("on", { to: "done", rule: condition }),
    ],
    ["timer", "next", (flow) => flow.state("next").transition("later", { to: "done", timer })],
    [
      "on-entry",
      "next",
      (flow) => flow.state("next", { onEntries: [brittle()] }).transition("on", { to: "done" }),
    ],
    [
      "chain",
      "next",
      (flow) =>
        flow
          .state("next")
          .transition("circle", { to: "other", rule: "context.Instance.Data.fixed != true" })
          .transition("stop", {})
          .state("other")
          .transition("back", { to: "next", otherwise: true }),
    ],
  ])("in its %s", async ([what, state, build]) => {
    const key = `in-${what}`;
    await app.publish(
      build(aWorkflow(key).state("open").transition("go", { to: "next" })).state("done"),
    );
    const flow = instancesOf(app, key);
    const id = await aFaulted(flow);
    expect(await retry(flow, id)).toMatchObject({ body: { status: "F" } });

    const answer = await retry(flow, id, fixed);

    expect(answer).toMatchObject({ status: 200, body: { status: "A" } });
    const { metadata } = await flow.read(id);
    expect(metadata).toMatchObject({ incident: { hasActiveIncident: false } });
    expect(metadata.currentState).toBe(state);
  });

  test("of its start", async () => {
    await app.publish(
      aWorkflow("in-start")
        .start("begin", { onExecutionTasks: [brittle()] })
        .state("open"),
    );
    const flow = instancesOf(app, "in-start");
    const started = await flow.start({});
    expect(started).toMatchObject({ status: 200, body: { status: "F" } });

    expect(await retry(flow, idOf(started), fixed)).toMatchObject({ body: { status: "A" } });
  });

  test.for(["sync=true", "sync=false"])("of an update of its data (%s)", async (query) => {
    const id = await orders.begin({});
    await orders.send(id, "amend", {}, { query });
    await eventually(async () =>
      expect(await orders.read(id)).toMatchObject({ metadata: { status: "F" } }),
    );

    expect(await retry(orders, id, fixed)).toMatchObject({ body: { status: "A" } });

    expect(await orders.send(id, "go")).toMatchObject({ body: { status: "A" } });
  });

  test("of an accepted transition", async () => {
    const id = await orders.begin({});
    await orders.send(id, "go", {}, { query: "sync=false" });
    await eventually(async () =>
      expect(await orders.read(id)).toMatchObject({ metadata: { status: "F" } }),
    );

    expect(await retry(orders, id, fixed)).toMatchObject({ body: { status: "A" } });
  });

  test("over its budget: the record that was closed goes on", async () => {
    await app.publish(
      aComponent("sys-tasks", "slow-call", { type: "6", config: { url: `${slow.url}/slow` } }),
      aWorkflow("in-time")
        .state("open")
        .transition("go", { to: "done", onExecutionTasks: [taskWith("slow-call", { type: "G" })] })
        .state("done"),
    );
    const flow = instancesOf(app, "in-time");
    const id = await flow.begin({});
    const impatient = await startRuntime({
      databaseUrl: app.databaseUrl,
      settings: { ...settings, "WorkflowExecution.TransitionJobTimeoutSeconds": 2 },
    });
    expect(await instancesOf(impatient, "in-time").send(id, "go")).toMatchObject({
      status: 200,
      body: { status: "F" },
    });
    expect(await incidentsOf(flow, id)).toMatchObject([
      {
        errorCode: "JOB_EXECUTION_TIMEOUT",
        errorLayer: "Job",
        boundaryAction: "Abort",
        boundaryLevel: "Job",
      },
    ]);

    expect(await retry(flow, id)).toMatchObject({ body: { status: "A" } });

    expect(movesOf(await flow.history(id))).toEqual(["start: open-open", "go: open-done"]);
    expect(slow.asked).toHaveLength(2);
  });
});

describe("what comes due while an instance is faulted", () => {
  test.for([
    ["sx", "reminded", "remind: open-reminded"],
    ["to", "late", "too-late: open-late"],
  ] as const)("waits for the retry: a timer of the kind %s", async ([kind, state, move]) => {
    await app.publish(
      aWorkflow(`due-${kind}`)
        .state("open")
        .transition("remind", { to: "reminded", timer: "P1D" })
        .state("reminded")
        .transition("again", {})
        .state("late", { type: "finish", subType: "timeout" })
        .updateData("amend", { onExecutionTasks: [brittle()] })
        .timeout("too-late", { to: "late", after: "P9D" }),
    );
    const flow = instancesOf(app, `due-${kind}`);
    const id = await aFaulted(flow, "amend");
    const dueNow = "update job set ready_at = now() where instance_id = $1 and kind = $2";
    await rowsOf(app.databaseUrl, dueNow, [id, kind]);
    const putOff = `select 1 from job where instance_id = $1 and kind = $2 and attempts = 1
      and owner is null and ready_at > now()`;
    await eventually(async () =>
      expect(await rowsOf(app.databaseUrl, putOff, [id, kind])).toHaveLength(1),
    );
    expect(await flow.read(id)).toMatchObject({ metadata: { status: "F", currentState: "open" } });

    await retry(flow, id, fixed);

    await eventually(async () =>
      expect(await flow.read(id)).toMatchObject({ metadata: { currentState: state } }),
    );
    expect(movesOf(await flow.history(id)).at(-1)).toBe(move);
  });
});

test("a start that is retried does not put its workflow's timeout off", async () => {
  await app.publish(
    aWorkflow("timed-start")
      .start("begin", { onExecutionTasks: [brittle()] })
      .state("open")
      .transition("again", {})
      .state("late", { type: "finish", subType: "timeout" })
      .timeout("too-late", { to: "late", after: "PT1H" }),
  );
  const flow = instancesOf(app, "timed-start");
  const id = idOf(await flow.start({}));
  const sql = "select ready_at::text from job where instance_id = $1 and kind = 'to'";
  const before = await rowsOf(app.databaseUrl, sql, [id]);

  expect(await retry(flow, id, fixed)).toMatchObject({ body: { status: "A" } });

  expect(before).toHaveLength(1);
  expect(await rowsOf(app.databaseUrl, sql, [id])).toEqual(before);
});

test("1,000 faulted instances retried at once: each ends with a true status, no incident stays open", async () => {
  const count = 1000;
  await app.publish(
    aWorkflow("crowd")
      .state("open")
      .transition("go", {
        to: "done",
        onExecutionTasks: [
          taskWith(
            "script",
            output("if (!context.Instance.Data.fixed) throw new Error('x'); return {};"),
          ),
        ],
      })
      .state("done"),
  );
  const crowd = instancesOf(app, "crowd");
  const ids: string[] = [];
  await inParallel(count, async () => {
    const id = await crowd.begin({});
    await crowd.send(id, "go");
    ids.push(id);
  });

  await inParallel(count, async (i) => {
    // Every fourth is not fixed, every fifth is only accepted.
    const body = i % 4 === 0 ? {} : fixed;
    const query = i % 5 === 0 ? "sync=false" : "sync=true";
    expect(await retry(crowd, ids[i]!, body, query)).toMatchObject({ status: 200 });
  });

  await eventually(async () => {
    const rows = await rowsOf<{ status: string; state: string; open: number; count: number }>(
      app.databaseUrl,
      `select i.status::text as status, i.current_state as state, count(*)::int as count,
         (sum((select count(*) from incident n where n.instance_id = i.id and n.resolved_at is null)))::int as open
       from instance i where i.flow = 'crowd' group by 1, 2 order by 1`,
    );
    expect(rows).toEqual([
      { status: "A", state: "done", count: 750, open: 0 },
      { status: "F", state: "open", count: 250, open: 250 },
    ]);
  });
  expect(await auditOf(app.databaseUrl)).toEqual([]);
}, 600_000);

/** Thirty-two at a time. */
async function inParallel(count: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const i = next;
      next += 1;
      await work(i);
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}
