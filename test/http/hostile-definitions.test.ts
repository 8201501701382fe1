/** What definitions and scripts can say that no database keeps, and that no clock reaches. */
import { describe, expect, test } from "vitest";
import { aScriptTask, output, slot, taskWith } from "../support/a-script-slot.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });
await app.publish(aScriptTask("say"));

/** Runs the transition `go` as `options` make it, waited for and queued. */
async function run(key: string, options: object, data: object = {}) {
  await app.publish(
    aWorkflow(key)
      .state("open")
      .transition("go", { to: "next", ...options })
      .state("next")
      .transition("later", {
        to: "done",
        timer: slot(`
          import { TimerSchedule } from "millrace/script";
          export function Handler({ Instance: { Data } }) {
            return Data.at ? TimerSchedule.FromDateTime(Data.at) : TimerSchedule.FromDuration(Data.ms ?? 1e9);
          }`),
      })
      .state("done", { type: "finish", subType: "success" }),
  );
  const flow = instancesOf(app, key);
  const waited = await flow.begin({ attributes: data });
  const queued = await flow.begin({ attributes: data });
  const answer = await flow.send(waited, "go", {});
  await flow.send(queued, "go", {}, { query: "sync=false" });
  const read = (id: string) =>
    eventually(async () => {
      const { metadata } = await flow.read(id);
      expect(metadata.status).not.toBe("B");
      const incident = await app.get(`${flow.path}/${id}/incidents/active`);
      const { message = "" } = incident.body as { message?: string };
      return { status: metadata.status, state: metadata.currentState, message };
    });
  return { answer, ends: [await read(waited), await read(queued)] };
}

describe("a script that says what cannot be kept faults its instance, with its own words", () => {
  test.each([
    ["a NUL in an error", "throw new Error('a\\u0000b');", "a\ufffdb"],
    ["half a character in an error", "throw new Error('a\\ud800b');", "a\ufffdb"],
    ["a long error cut inside a character", "throw new Error('x' + '😀'.repeat(2000));", "x😀"],
    ["a NUL in a member's name", "return { Data: { 'a\\u0000': 1 } };", "cannot be stored"],
    ["a NUL in the stage", "context.Mutations.SetStage('a\\u0000'); return {};", "short text"],
  ])("%s", async (name, body, expected) => {
    const key = name.toLowerCase().replaceAll(/[^a-z]/g, "-");

    const { answer, ends } = await run(key, {
      onExecutionTasks: [taskWith("say", output(body))],
    });

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
    for (const end of ends) {
      expect(end).toMatchObject({
        status: "F",
        message: expect.stringContaining(expected) as string,
      });
    }
  });
});

test.each([
  ["in a billion years", { ms: 1e18 }],
  ["in more time than there is", { ms: 1e308 }],
  ["after the last year", { at: "+275760-09-13T00:00:00.000Z" }],
])("a timer that fires %s waits", async (name, data) => {
  const { answer, ends } = await run(`timer-${name.replaceAll(" ", "-")}`, {}, data);

  expect(answer).toMatchObject({ status: 200 });
  for (const end of ends) expect(end).toMatchObject({ status: "A", state: "next" });
});
