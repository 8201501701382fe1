/** Task mappings of script tasks: their two handlers, their effects, their order. */
import { describe, expect, test } from "vitest";
import { aScriptTask, handler, output, slot, taskWith } from "../support/a-script-slot.ts";
import { aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { openIncidents } from "../support/incidents.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const incidentsOf = await openIncidents(app.databaseUrl);
await app.publish(
  aScriptTask("note-it", { text: "configured" }),
  aScriptTask("get-user"),
  aScriptTask("third"),
);

async function publish(workflow: WorkflowBuilder) {
  await app.publish(workflow);
  return instancesOf(app, workflow.build().key);
}

/** Publishes a workflow whose transition `go` runs these tasks, sends it, and reads what came of it. */
async function runTasks(key: string, ...onExecutionTasks: object[]) {
  const flow = await publish(
    aWorkflow(key)
      .state("open")
      .transition("go", { to: "done", onExecutionTasks })
      .state("done")
      .transition("again", { to: "done" }),
  );
  const id = await flow.begin({ attributes: { start: true } });
  const answer = await flow.send(id, "go", { attributes: { asked: 1 } });
  return { id, answer, instance: await flow.read(id), flow };
}

describe("a task's mapping", () => {
  test("gets the task and the context, then answers what is merged, as a patch of the version", async () => {
    const { instance, flow, id } = await runTasks(
      "both-handlers",
      taskWith(
        "note-it",
        slot(`
          import { ScriptBase, ScriptTask, type ScriptContext, type WorkflowTask } from "millrace/script";
          export default class Note extends ScriptBase {
            InputHandler(task: WorkflowTask, context: ScriptContext) {
              context.MetaData["input"] = { key: task.Key, type: task.Type, isScript: task instanceof ScriptTask, asked: context.Body.asked };
              return {};
            }
            OutputHandler(context: ScriptContext) {
              return { Data: { note: context.MetaData["input"] } };
            }
          }`),
      ),
    );

    expect(instance.attributes).toEqual({
      start: true,
      asked: 1,
      note: { key: "note-it", type: "7", isScript: true, asked: 1 },
    });
    // 1.0.0 by the start, 1.0.1 by the payload, 1.0.2 by the output.
    expect(await flow.get(id, { query: "version=1.0.1" })).toMatchObject({
      body: { attributes: { start: true, asked: 1 } },
    });
    expect(await flow.get(id, { query: "version=1.0.2" })).toMatchObject({
      body: { attributes: instance.attributes },
    });
    expect((await flow.history(id)).at(-1)).toMatchObject({ body: { asked: 1 } });
  });

  test("has an object of its own in each phase", async () => {
    const { instance } = await runTasks(
      "fresh-objects",
      taskWith(
        "note-it",
        slot(`
          let calls = 0;
          export default class Note {
            seen = 0;
            InputHandler() { this.seen += 1; calls += 1; return {}; }
            OutputHandler() { return { Data: { seen: this.seen, calls } }; }
          }`),
      ),
    );

    expect(instance.attributes).toMatchObject({ seen: 0, calls: 0 });
  });

  test("may have an output handler alone, and answer in camelCase", async () => {
    const { instance } = await runTasks(
      "output-alone",
      taskWith("note-it", output("return { data: { alone: true }, statusCode: 200 };")),
    );

    expect(instance.attributes).toMatchObject({ alone: true });
  });

  test("that answers no data changes nothing", async () => {
    const { instance, flow, id } = await runTasks(
      "no-data",
      taskWith("note-it", output("return {};")),
    );

    expect(instance).toMatchObject({
      attributes: { start: true, asked: 1 },
      metadata: { status: "A" },
    });
    expect(await flow.get(id, { query: "version=1.0.2" })).toMatchObject({ status: 404 });
  });

  test("of type G does nothing", async () => {
    const { instance } = await runTasks("global-task", taskWith("note-it", { type: "G" }));

    expect(instance).toMatchObject({
      attributes: { start: true, asked: 1 },
      metadata: { status: "A" },
    });
  });

  test("sets the stage, which the history keeps", async () => {
    const { instance, flow, id } = await runTasks(
      "staged",
      taskWith("note-it", output(`context.Mutations.SetStage("checked"); return {};`)),
    );

    expect(instance.metadata.stage).toBe("checked");
    expect((await flow.history(id)).at(-1)).toMatchObject({ stage: "checked" });
  });

  test("that changes the body changes it for those who follow", async () => {
    const { instance } = await runTasks(
      "set-body",
      taskWith(
        "note-it",
        slot(`
          export const InputHandler = (task, context) => { context.SetBody({ extra: 1 }); return {}; };
          export const OutputHandler = (context) => ({ Data: { here: context.Body.extra } });`),
      ),
      taskWith("third", output("return { Data: { there: context.Body.extra } };"), 2),
    );

    expect(instance.attributes).toMatchObject({ here: 1, there: 1 });
  });
});

describe("tasks of one hook", () => {
  test("run in order, and later ones see the data, the responses and the body of earlier ones", async () => {
    const { instance } = await runTasks(
      "in-order",
      taskWith(
        "third",
        output(`return { Data: {
          user: context.Instance.Data.user.name,
          response: context.TaskResponse.getUser.data.user.name,
          body: context.Body.data.user.name,
          asked: context.Body.asked,
          success: context.Body.isSuccess,
        } };`),
        2,
      ),
      taskWith("get-user", output(`return { Data: { user: { name: "Ada" } } };`), 1),
    );

    expect(instance.attributes).toMatchObject({
      response: "Ada",
      body: "Ada",
      asked: 1,
      success: true,
      user: "Ada",
    });
  });

  test("are seen by the rules of the same hop", async () => {
    const flow = await publish(
      aWorkflow("seen-by-rules")
        .state("open")
        .transition("go", {
          to: "middle",
          onExecutionTasks: [taskWith("get-user", output(`return { Data: { level: 3 } };`))],
        })
        .state("middle")
        .transition("up", {
          to: "high",
          rule: handler(
            "return context.TaskResponse.getUser.data.level === 3 && context.Body.data.level === 3 && context.Instance.Data.level === 3;",
          ),
        })
        .transition("else", { to: "low", otherwise: true })
        .state("high")
        .state("low"),
    );
    const id = await flow.begin();

    await flow.send(id, "go");

    expect((await flow.read(id)).metadata.currentState).toBe("high");
  });

  test("of one order do not see each other; their outputs are merged in declared order", async () => {
    const { instance } = await runTasks(
      "side-by-side",
      taskWith(
        "get-user",
        output(`return { Data: { a: 1, last: "user", seen: context.TaskResponse } };`),
      ),
      taskWith("third", output(`return { Data: { b: 2, last: "third" } };`)),
    );

    expect(instance.attributes).toMatchObject({ a: 1, b: 2, last: "third", seen: {} });
  });

  test.each([
    [
      "stages",
      `context.Mutations.SetStage("one"); return {};`,
      `context.Mutations.SetStage("two"); return {};`,
      "Parallel tasks produced conflicting instance Stage mutations.",
    ],
    [
      "metadata",
      `context.MetaData.k = 1; return {};`,
      `context.MetaData.k = 2; return {};`,
      "Parallel tasks produced conflicting metadata for key 'k'.",
    ],
  ])("of one order that write different %s fault the instance", async (what, a, b, message) => {
    const { id, answer, instance } = await runTasks(
      `conflicting-${what}`,
      taskWith("get-user", output(a)),
      taskWith("third", output(b)),
    );

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
    expect(instance.metadata.stage).toBeUndefined();
    expect(await incidentsOf(id)).toMatchObject([{ message, error_layer: "Task" }]);
  });

  test("one task twice in one order with different outputs faults the instance", async () => {
    const { id } = await runTasks(
      "conflicting-outputs",
      taskWith("get-user", output("return { Data: { a: 1 } };")),
      taskWith("get-user", output("return { Data: { a: 2 } };")),
    );

    expect(await incidentsOf(id)).toMatchObject([
      { message: "Parallel tasks produced conflicting output for key 'getUser'." },
    ]);
  });

  test("of one order that say the same are no conflict", async () => {
    const same = output(`context.Mutations.SetStage("one"); context.MetaData.k = [1]; return {};`);

    const { instance } = await runTasks(
      "agreeing",
      taskWith("get-user", same),
      taskWith("third", same),
    );

    expect(instance.metadata).toMatchObject({ status: "A", stage: "one" });
  });
});

describe("a handler that throws", () => {
  test.each([
    [
      "InputHandler",
      `export const InputHandler = (task) => { throw new Error("bad " + task.Key); };
       export const OutputHandler = () => ({ Data: { ran: true } });`,
      "Task:400007",
      "Script task input handler failed: bad note-it (./src/script.ts, line 1, column ",
    ],
    [
      "OutputHandler",
      `export const InputHandler = () => ({});
       export const OutputHandler = () => { throw new TypeError("no rate"); };`,
      "Task:400008",
      "Script task output handler failed: no rate (./src/script.ts, line 2, column ",
    ],
  ])("(%s) fails its task; nothing of it is kept", async (name, code, errorCode, message) => {
    const { id, answer, instance } = await runTasks(
      `throws-in-${name}`,
      taskWith("note-it", slot(code)),
      taskWith("third", output("return { Data: { after: true } };"), 2),
    );

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
    expect(instance).toMatchObject({ metadata: { currentState: "open" } });
    expect(instance.attributes).toEqual({ start: true, asked: 1 });
    const [incident] = await incidentsOf(id);
    expect(incident).toMatchObject({
      state: "open",
      transition: "go",
      task: "note-it",
      error_code: errorCode,
      error_layer: "Task",
    });
    expect(incident?.message).toContain(message);
  });

  test("in the second of two orders leaves what the first has merged", async () => {
    const { instance } = await runTasks(
      "throws-second",
      taskWith("note-it", output("return { Data: { first: 1 } };"), 1),
      taskWith("third", output("throw 'x';"), 2),
    );

    expect(instance).toMatchObject({ attributes: { first: 1 }, metadata: { status: "F" } });
  });
});
