/** What the task hands to the senders, where no caller of the API can see it. */
import { describe, expect, test } from "vitest";
import type { Component } from "../../src/engine/component.ts";
import type { Instance } from "../../src/engine/instance.ts";
import type { Bounds, Notification } from "../../src/notifications/sender.ts";
import type { ScriptHost, ScriptRequest } from "../../src/scripting/script-host.ts";
import { notificationTask } from "../../src/tasks/notification-task.ts";
import type { TaskInvocation } from "../../src/tasks/task-host.ts";
import type { TaskPorts } from "../../src/tasks/task-type.ts";
import { anInstance, programOf } from "../support/a-run.ts";
import { aWorkflow } from "../support/a-workflow.ts";

const scripts = {
  run: (kind: string) =>
    Promise.resolve({
      value:
        kind === "notification.channel" ? { data: 1, metadata: {}, operation: "create" } : null,
    }),
} as unknown as ScriptHost;

const program = programOf(aWorkflow("loan").state("draft").transition("go"));

function aTask(channels: string[], instance?: Instance) {
  const sent: [Notification, Bounds][] = [];
  const ending = new AbortController();
  const ports = {
    scripts,
    invocationTimeoutMs: 4321,
    notifications: {
      send: (notification: Notification, bounds: Bounds) => {
        sent.push([notification, bounds]);
        return Promise.resolve({ sender: "log" });
      },
    },
  } as unknown as TaskPorts;
  const invocation = {
    binding: { mapping: { type: "local", code: "x" } },
    definition: {
      key: "tell-all",
      attributes: { type: "10", config: { channels } },
    } as unknown as Component,
    context: { domain: "core", instance, author: {}, headers: {}, traceId: undefined },
    executionKey: "record-1:onEntry:0:2",
    signal: ending.signal,
    request: (script: unknown) => ({ script }) as ScriptRequest,
  } as unknown as TaskInvocation;
  return { sent, ending, run: () => notificationTask.run(ports, invocation) };
}

describe("a notification task", () => {
  test("is journaled: a crash never repeats one that is done", () => {
    expect(notificationTask.isEffectful({} as Component, undefined)).toBe(true);
  });

  test("that runs again sends the same keys and ids", async () => {
    const { run, sent } = aTask(["sms", "e-posta/ö"], anInstance(program));

    await run();
    await run();

    expect(sent.slice(0, 3).map(([{ key }]) => key)).toEqual([
      "record-1:onEntry:0:2:sms",
      "record-1:onEntry:0:2:e-posta%2F%C3%B6",
      "record-1:onEntry:0:2:state",
    ]);
    expect(sent.slice(3)).toEqual(sent.slice(0, 3));
  });

  test("bounds each channel by the ceiling of all invocations", async () => {
    const { run, sent, ending } = aTask(["sms"], anInstance(program));

    await run();

    expect(sent.map(([, bounds]) => bounds)).toEqual([
      { timeoutMs: 4321, signal: ending.signal },
      { timeoutMs: 4321, signal: ending.signal },
    ]);
  });

  test("of no instance has no state to tell", async () => {
    const { run, sent } = aTask(["sms"]);

    const { response } = await run();

    expect(response).toMatchObject({ metadata: { dispatched: ["sms"], skipped: ["state"] } });
    expect(sent).toHaveLength(1);
  });

  test("that was ended early has no outcome", async () => {
    const { run, ending } = aTask(["sms"], anInstance(program));
    ending.abort(new Error("a sibling failed"));

    await expect(run()).rejects.toThrow("a sibling failed");
  });
});
