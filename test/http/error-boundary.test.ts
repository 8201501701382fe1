/** Error boundaries beyond the matrix: real attempt counts, long waits, hooks, what a way out may be. */
import { describe, expect, onTestFinished, test } from "vitest";
import { createLog } from "../../src/log.ts";
import { rowsOf } from "../crash/promises.ts";
import { aFailingServerForFile } from "../support/a-failing-server.ts";
import { aScriptTask, output, slot, taskWith } from "../support/a-script-slot.ts";
import { auditAtEnd } from "../support/audited.ts";
import { aWebServer } from "../support/a-web-server.ts";
import { aComponent, aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf, movesOf, type Instances } from "../support/instances-of.ts";
import { startRuntime, startRuntimeForFile, type TestRuntime } from "../support/start-runtime.ts";

const logged: Record<string, unknown>[] = [];
const settings = { "Egress.Allow": ["loopback"] };
const app = await startRuntimeForFile({
  settings,
  roles: ["api", "worker"],
  log: createLog({
    level: "info",
    destination: { write: (line) => logged.push(JSON.parse(line) as Record<string, unknown>) },
  }),
});
auditAtEnd(app);
const server = await aFailingServerForFile();
await app.publish(aScriptTask("script"), server.task("unwell", 503));

const soon = { initialDelay: "PT0.001S", backoffType: "fixed", useJitter: false };
const inAnHour = { initialDelay: "PT1H", maxDelay: "PT1H", backoffType: "fixed", useJitter: false };
const retry = (maxRetries: number, more: object = {}, policy: object = soon) => ({
  action: "retry",
  retryPolicy: { ...policy, maxRetries },
  ...more,
});
const out = (more: object = {}) => ({ action: "rollback", transition: "compensate", ...more });
const boundary = (...onError: object[]) => ({ errorBoundary: { onError } });

/** `go` runs the task; `compensate` is the way out. */
const flowWith = (key: string, task: object, more: object = {}): WorkflowBuilder =>
  aWorkflow(key)
    .state("open")
    .transition("go", { to: "done", onExecutionTasks: [task] })
    .state("done")
    .transition("again", {})
    .state("compensated")
    .transition("again", {})
    .state("cancelled", { type: "finish", subType: "cancelled" })
    .shared("compensate", { to: "compensated" })
    .cancel("give-up", { to: "cancelled" })
    .updateData("amend")
    .with(more);

const global = { type: "G" };

async function publishCalling(key: string, statuses: number[], own: object, more: object = {}) {
  await app.publish(
    server.task(key, ...statuses),
    flowWith(`flow-${key}`, { ...taskWith(key, global), ...own }, more),
  );
  return instancesOf(app, `flow-${key}`);
}

const incidentsOf = async (runtime: TestRuntime, flow: Instances, id: string) =>
  ((await runtime.get(`${flow.path}/${id}/incidents`)).body as { items: object[] }).items;

describe("a retry policy", () => {
  test("that helps leaves no incident, and every attempt has the same idempotency key", async () => {
    const flow = await publishCalling("third-time", [503, 503, 200], boundary(retry(5)));
    const id = await flow.begin({});

    const answer = await flow.send(id, "go");

    expect(answer).toMatchObject({ body: { status: "A", attributes: { "from-third-time": 3 } } });
    expect(server.calls("third-time")).toBe(3);
    expect(new Set(server.keysOf("third-time")).size).toBe(1);
    expect(await incidentsOf(app, flow, id)).toEqual([]);
  });

  test("is asked anew for each failure: another error, another rule", async () => {
    const rules = boundary(retry(5, { errorCodes: ["503"] }), out({ errorCodes: ["404"] }));
    const flow = await publishCalling("changing", [503, 503, 404], rules);
    const id = await flow.begin({});

    const answer = await flow.send(id, "go");

    expect(answer).toMatchObject({ status: 200, body: { status: "A" } });
    expect(server.calls("changing")).toBe(3);
    expect(await flow.read(id)).toMatchObject({ metadata: { currentState: "compensated" } });
    expect(await incidentsOf(app, flow, id)).toMatchObject([
      { errorCode: "Task:Http:404", retryCount: 2, boundaryAction: "Rollback", isResolved: true },
    ]);
  });

  test("that is used up leaves the word to the other rules, at any level", async () => {
    const flow = await publishCalling("used-up", [503], boundary(retry(2)), boundary(out()));
    const id = await flow.begin({});

    await flow.send(id, "go");

    expect(server.calls("used-up")).toBe(3);
    expect(await incidentsOf(app, flow, id)).toMatchObject([
      { retryCount: 2, boundaryAction: "Rollback", boundaryLevel: "Global", isResolved: true },
    ]);
  });

  test("of a script task counts too", async () => {
    const failsTwice = output(
      "const n = (context.Instance.Data.tries ?? 0); if (n < 9) throw new Error('no'); return {};",
    );
    await app.publish(
      flowWith("script-retries", { ...taskWith("script", failsTwice), ...boundary(retry(4)) }),
    );
    const flow = instancesOf(app, "script-retries");
    const id = await flow.begin({});

    await flow.send(id, "go");

    expect(await incidentsOf(app, flow, id)).toMatchObject([{ retryCount: 4, isResolved: false }]);
  });
});

describe("a long wait before a retry", () => {
  interface WaitingJob {
    kind: string;
    waits: boolean;
    owner: string | null;
  }
  const jobsOf = (url: string, id: string) =>
    rowsOf<WaitingJob>(
      url,
      `select kind, ready_at > now() + interval '59 min' as waits, owner from job where instance_id = $1`,
      [id],
    );
  const anHourLater = async (url: string, id: string) => {
    await rowsOf(
      url,
      "update task_journal set finished_at = finished_at - interval '1 h' where instance_id = $1",
      [id],
    );
    await rowsOf(url, "update job set ready_at = now() where instance_id = $1", [id]);
  };
  const waiting = [{ kind: "tx", waits: true, owner: null }];

  test("is a job: the caller hears that it is under way, and no worker is held", async () => {
    const flow = await publishCalling("patient", [503, 200], boundary(retry(3, {}, inAnHour)));
    const id = await flow.begin({});

    const answer = await flow.send(id, "go");

    expect(answer).toMatchObject({ status: 202, body: { id, status: "B" } });
    await eventually(async () => expect(await jobsOf(app.databaseUrl, id)).toEqual(waiting));
    expect(server.calls("patient")).toBe(1);
    expect(await flow.send(id, "go")).toMatchObject({ status: 409 });

    await anHourLater(app.databaseUrl, id);

    await eventually(async () =>
      expect(await flow.read(id)).toMatchObject({
        metadata: { status: "A", currentState: "done" },
        attributes: { "from-patient": 2 },
      }),
    );
    expect(server.calls("patient")).toBe(2);
    expect(movesOf(await flow.history(id))).toEqual(["start: open-open", "go: open-done"]);
  });

  test("counts from the attempt before it: a job that comes early goes on waiting", async () => {
    const flow = await publishCalling("not-yet", [503, 200], boundary(retry(3, {}, inAnHour)));
    const id = await flow.begin({});
    await flow.send(id, "go", {}, { query: "sync=false" });
    await eventually(async () => expect(await jobsOf(app.databaseUrl, id)).toEqual(waiting));

    await rowsOf(app.databaseUrl, "update job set ready_at = now() where instance_id = $1", [id]);

    await eventually(async () => {
      const [job] = await rowsOf<{ attempts: number }>(
        app.databaseUrl,
        "select attempts from job where instance_id = $1 and owner is null and ready_at > now()",
        [id],
      );
      expect(job?.attempts).toBe(2);
    });
    expect(server.calls("not-yet")).toBe(1);
    expect(await flow.send(id, "give-up")).toMatchObject({ body: { status: "C" } });
  });

  test.for(["patient-call", "patient-script"])(
    "outlives the service, and so does the count of attempts: %s",
    async (key) => {
      const database = await createDatabase();
      onTestFinished(() => database.drop());
      const node = { settings, roles: ["api", "worker"], databaseUrl: database.url } as const;
      const first = await startRuntime(node);
      const own = boundary(retry(2, {}, inAnHour));
      const isCall = key === "patient-call";
      const task = isCall
        ? taskWith(key, global)
        : taskWith("script", output("throw new Error('never');"));
      await first.publish(server.task(key, 503), aScriptTask("script"));
      await first.publish(flowWith(key, { ...task, ...own }));
      const { url } = database;
      const before = instancesOf(first, key);
      const id = await before.begin({});
      await before.send(id, "go");
      await eventually(async () => expect(await jobsOf(url, id)).toEqual(waiting));

      await first.stop();
      const second = await startRuntime(node);
      const after = instancesOf(second, key);
      await anHourLater(url, id);
      await eventually(async () => expect(await jobsOf(url, id)).toEqual(waiting));
      await anHourLater(url, id);

      await eventually(async () =>
        expect(await after.read(id)).toMatchObject({ metadata: { status: "F" } }),
      );
      expect(await incidentsOf(second, after, id)).toMatchObject([{ retryCount: 2 }]);
      expect(server.calls(key)).toBe(isCall ? 3 : 0);
    },
  );
});

describe("a boundary of a state is asked", () => {
  const broken = taskWith("script", output("throw new Error('broken');"));

  test.for([
    ["the old one when a task on leaving it fails", { onExits: [broken] }, {}, "open"],
    ["the new one when a task on entering it fails", {}, { onEntries: [broken] }, "next"],
  ] as const)("%s", async ([, old, next, state]) => {
    const key = `hooks-of-${state}`;
    await app.publish(
      aWorkflow(key)
        .state("open", { ...old, ...boundary(out({ transition: "from-open" })) })
        .transition("go", { to: "next" })
        .state("next", { ...next, ...boundary(out({ transition: "from-next" })) })
        .transition("again", {})
        .state("end")
        .transition("again", {})
        .shared("from-open", { to: "end", availableIn: ["end"] })
        .shared("from-next", { to: "end", availableIn: ["end"] }),
    );
    const flow = instancesOf(app, key);
    const id = await flow.begin({});

    await flow.send(id, "go");

    if (state === "next") {
      expect(movesOf(await flow.history(id))).toEqual([
        "start: open-open",
        "go: open-undefined",
        "from-next: next-end",
      ]);
    } else {
      // The way out leaves the state too, and fails in the same task: nobody is asked twice.
      expect(await flow.read(id)).toMatchObject({
        metadata: { status: "F", currentState: "open" },
      });
      expect(movesOf(await flow.history(id))).toEqual([
        "start: open-open",
        "go: open-undefined",
        "from-open: open-undefined",
      ]);
    }
  });

  test("and when it ignores a task on entering, the state stays entered", async () => {
    await app.publish(
      aWorkflow("ignores-on-entry")
        .state("open")
        .transition("go", { to: "next" })
        .state("next", { onEntries: [broken], ...boundary({ action: "ignore" }) })
        .transition("on", { to: "end", otherwise: true })
        .state("end", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "ignores-on-entry");
    const id = await flow.begin({});

    expect(await flow.send(id, "go")).toMatchObject({ body: { status: "C" } });
  });
});

describe("the way out", () => {
  const broken = output("throw new Error('broken');");
  const flowOut = async (
    key: string,
    transition: string,
    change = (flow: WorkflowBuilder) => flow,
  ) => {
    const task = { ...taskWith("script", broken), ...boundary(out({ transition })) };
    await app.publish(change(flowWith(key, task)));
    const flow = instancesOf(app, key);
    return { flow, id: await flow.begin({}) };
  };

  test("may be another state's transition", async () => {
    const { flow, id } = await flowOut("out-elsewhere", "from-done", (it) =>
      it.state("far").transition("from-done", { to: "compensated" }),
    );

    await flow.send(id, "go");

    expect(movesOf(await flow.history(id))).toEqual([
      "start: open-open",
      "go: open-undefined",
      "from-done: open-compensated",
    ]);
  });

  test("may be the cancel", async () => {
    const { flow, id } = await flowOut("out-cancel", "give-up");

    expect(await flow.send(id, "go")).toMatchObject({ body: { status: "C" } });
    expect(await flow.read(id)).toMatchObject({
      metadata: {
        currentState: "cancelled",
        incident: { hasActiveIncident: false, totalCount: 1 },
      },
    });
  });

  test.for(["sync=true", "sync=false"])("may be the update of the data (%s)", async (query) => {
    const { flow, id } = await flowOut(`out-update-${query.slice(5)}`, "amend");

    await flow.send(id, "go", {}, { query });

    await eventually(async () =>
      expect(await flow.read(id)).toMatchObject({
        metadata: { status: "A", currentState: "open" },
      }),
    );
    expect(await flow.send(id, "compensate")).toMatchObject({ status: 200 });
  });

  test("is followed by automatic transitions", async () => {
    const { flow, id } = await flowOut("out-chain", "compensate-more", (it) =>
      it
        .shared("compensate-more", { to: "passing" })
        .state("passing")
        .transition("on", { to: "compensated", otherwise: true }),
    );

    expect(await flow.send(id, "go")).toMatchObject({ body: { status: "A" } });

    expect(await flow.read(id)).toMatchObject({
      metadata: { currentState: "compensated", incident: { hasActiveIncident: false } },
    });
  });

  test("that fails itself faults the instance; a retry goes on with the way out", async () => {
    const failing = taskWith(
      "script",
      output("if (!context.Instance.Data.fixed) throw new Error('worse'); return {};"),
    );
    const { flow, id } = await flowOut("out-fails", "compensate-badly", (it) =>
      it.shared("compensate-badly", { to: "compensated", onExecutionTasks: [failing] }),
    );

    expect(await flow.send(id, "go")).toMatchObject({ body: { status: "F" } });
    expect(await incidentsOf(app, flow, id)).toMatchObject([
      { transition: "compensate-badly", isResolved: false },
      { transition: "go", isResolved: false, boundaryAction: "Rollback" },
    ]);

    const retried = await app.post(`${flow.path}/${id}/retry?sync=true`, {
      attributes: { fixed: true },
    });

    expect(retried).toMatchObject({ status: 200, body: { id, status: "A" } });
    expect(await flow.read(id)).toMatchObject({
      metadata: { currentState: "compensated", incident: { hasActiveIncident: false } },
    });
    expect(movesOf(await flow.history(id))).toEqual([
      "start: open-open",
      "go: open-undefined",
      "compensate-badly: open-compensated",
    ]);
  });
});

describe("of tasks that run side by side", () => {
  test("the first that fails decides, and what the others have said is kept", async () => {
    let fail: (() => void) | undefined;
    const { url } = await aWebServer((asked, _request, response) => {
      if (asked.url === "/bad") fail = () => response.writeHead(503).end();
      else response.setHeader("content-type", "application/json").end('{"good":1}');
    });
    const call = (key: string) =>
      aComponent("sys-tasks", key, { type: "6", config: { url: `${url}/${key}` } });
    await app.publish(
      call("good"),
      call("bad"),
      aWorkflow("side-by-side")
        .state("open")
        .transition("go", {
          to: "done",
          onExecutionTasks: [
            taskWith("good", global),
            { ...taskWith("bad", global), ...boundary(out()) },
          ],
        })
        .state("done")
        .state("compensated")
        .transition("again", {})
        .shared("compensate", { to: "compensated" }),
    );
    const flow = instancesOf(app, "side-by-side");
    const id = await flow.begin({});
    const going = flow.send(id, "go");
    const journaled = "select 1 from task_journal where instance_id = $1 and succeeded";
    await eventually(async () =>
      expect(await rowsOf(app.databaseUrl, journaled, [id])).toHaveLength(1),
    );
    await eventually(() => expect(fail).toBeDefined());

    fail?.();
    await going;

    expect(await flow.read(id)).toMatchObject({
      attributes: { good: 1 },
      metadata: { currentState: "compensated" },
    });
  });
});

test("a failure that is only logged is in the log, with its instance", async () => {
  const task = taskWith("script", output("throw new Error('a trifle');"));
  await app.publish(flowWith("only-logged", { ...task, ...boundary({ action: "log" }) }));
  const flow = instancesOf(app, "only-logged");
  const id = await flow.begin({});

  await flow.send(id, "go");

  const lines = logged.filter((line) => JSON.stringify(line).includes(id));
  expect(JSON.stringify(lines)).toContain("a trifle");
});

describe("a rule for the type of an error is for", () => {
  const thrown = (what: string) =>
    taskWith(
      "script",
      slot(`import { InvalidOperationException } from "millrace/script";
        export function OutputHandler(context) { throw ${what}; }`),
    );
  const invalid = thrown("new InvalidOperationException('no')");
  const overTime = taskWith("script", output("for (;;);"));

  test.each([
    ["what a script throws", "TypeError", thrown("new TypeError('no')"), "compensated"],
    ["what the platform's own classes are", "InvalidOperationException", invalid, "compensated"],
    ["what ends so, in any letter case", "operationexception", invalid, "compensated"],
    ["a script over its time", "TimeoutException", overTime, "compensated"],
    ["an error status", "HttpRequestException", taskWith("unwell", global), "compensated"],
    ["nothing else", "TypeError", invalid, "open"],
  ])("%s", async (name, type, task, state) => {
    const key = name.replaceAll(/[^a-z]+/g, "-");
    const rules = boundary(out({ errorTypes: ["OtherException", type] }));
    await app.publish(flowWith(key, { ...task, ...rules }));
    const flow = instancesOf(app, key);
    const id = await flow.begin({});

    await flow.send(id, "go");

    expect((await flow.read(id)).metadata).toMatchObject({ currentState: state });
  });
});

test("a rule that names the task is for its scripts too", async () => {
  const rules = boundary(out({ errorCodes: ["Task:Script:script"] }));
  const task = taskWith("script", output("throw new Error('no');"));
  await app.publish(flowWith("by-task", { ...task, ...rules }));
  const flow = instancesOf(app, "by-task");
  const id = await flow.begin({});

  await flow.send(id, "go");

  expect((await flow.read(id)).metadata).toMatchObject({ currentState: "compensated" });
});

describe("onTimeout", () => {
  const own = {
    errorBoundary: { onError: [{ action: "ignore" }], onTimeout: out() },
  };

  test("decides about a task that took too long, before the other rules", async () => {
    const silent = await aWebServer(() => {});
    const config = { url: silent.url, method: "GET", timeoutSeconds: 1 };
    await app.publish(
      aComponent("sys-tasks", "silent", { type: "6", config }),
      flowWith("on-timeout", { ...taskWith("silent", global), ...own }),
    );
    const flow = instancesOf(app, "on-timeout");
    const id = await flow.begin({});

    await flow.send(id, "go");

    expect((await flow.read(id)).metadata).toMatchObject({
      currentState: "compensated",
      status: "A",
    });
  });

  test("has no say in any other failure", async () => {
    const broken = taskWith("script", output("throw new Error('x');"));
    await app.publish(flowWith("no-timeout", { ...broken, ...own }));
    const flow = instancesOf(app, "no-timeout");
    const id = await flow.begin({});

    await flow.send(id, "go");

    expect((await flow.read(id)).metadata).toMatchObject({ currentState: "done", status: "A" });
  });
});
