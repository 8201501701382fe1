/** What a state's `notifications` send once an instance has come to rest there. */
import { describe, expect, test } from "vitest";
import type { State } from "../../src/engine/definition/model.ts";
import { StepFailed } from "../../src/engine/task-failure.ts";
import { sendStateNotifications } from "../../src/runtime/send-state-notifications.ts";
import type { ScriptHost, ScriptRequest } from "../../src/scripting/script-host.ts";
import { anInstance, programOf } from "../support/a-run.ts";
import { base64, handler, slot } from "../support/a-script-slot.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { openTestNotifications } from "../support/notifications.ts";
import { startWebhook } from "../support/webhook.ts";

const global = { type: "G" };

const flowWith = (...notifications: object[]) =>
  programOf(
    aWorkflow("loan")
      .state("draft")
      .transition("submit", { to: "review" })
      .state("review", { notifications: notifications.map((it) => ({ type: 0, ...it })) })
      .transition("approve", { to: "done" })
      .state("done", { type: "finish", subType: "success" }),
  );

const broken = () =>
  new StepFailed({ code: "Task:400002", layer: "Task", message: "boom", retryable: false });

/** Scripts by their text: `yes` and `no` are rules, `boom` breaks, anything else adds metadata. */
const scripts = {
  holds: ({ script }: ScriptRequest) =>
    script.code.includes("boom")
      ? Promise.reject(broken())
      : Promise.resolve(script.code.includes("yes")),
  run: (kind: string, { script }: ScriptRequest) =>
    script.code.includes("boom")
      ? Promise.reject(broken())
      : Promise.resolve({ value: { metadata: { kind, code: script.code }, operation: "publish" } }),
} as unknown as ScriptHost;

interface RestOptions {
  at?: string;
  status?: "A" | "C" | "F";
  signal?: AbortSignal;
}

async function come(
  { workflow, ...program }: ReturnType<typeof flowWith>,
  { at = "review", status = "A", signal = new AbortController().signal }: RestOptions = {},
) {
  const hook = await startWebhook();
  const { notifications, logged } = openTestNotifications([`state=webhook:${hook.url}`]);
  const trouble: unknown[] = [];
  const rest = {
    instance: anInstance({ workflow, ...program }, { at, status }),
    state: workflow.states.get(at) as State,
    key: "record-1",
    request: (script: ScriptRequest["script"]) => ({ script }) as ScriptRequest,
    signal,
  };
  const send = () =>
    sendStateNotifications(
      {
        scripts,
        notifications,
        invocationTimeoutMs: 10_000,
        onTrouble: (event, error) => trouble.push([event, (error as Error).message]),
      },
      rest,
    );
  return {
    send,
    logged,
    trouble,
    posts: () => hook.posts.map(({ body }) => JSON.parse(body) as Record<string, unknown>),
    keys: () => hook.posts.map(({ headers }) => headers["idempotency-key"]),
  };
}

describe("a state's notification", () => {
  test("is the platform's message, with what its mapping adds", async () => {
    const { send, posts } = await come(flowWith({ mapping: slot("enrich") }));

    await send();

    expect(posts()).toMatchObject([
      {
        channel: "state",
        operation: "publish",
        data: {
          source: "vnext",
          type: "vnext.workflow",
          subject: "workflow-state-change",
          data: { domain: "core", flow: "loan", id: "instance-1", version: "1.0.0" },
        },
        metadata: {
          kind: "notification.state",
          code: "enrich",
          instanceId: "instance-1",
          state: "review",
        },
      },
    ]);
  });

  test("needs no script", async () => {
    const { send, posts } = await come(flowWith({ mapping: global }));

    await send();

    expect(posts()).toMatchObject([{ operation: "create", metadata: { state: "review" } }]);
  });

  test.each([
    ["A", "workflow-state-change"],
    ["C", "workflow-completed"],
    ["F", "workflow-faulted"],
  ] as const)("of an instance with status %s is about %s", async (status, subject) => {
    const { send, posts } = await come(flowWith({ mapping: global }), { status });

    await send();

    expect(posts()).toMatchObject([{ data: { subject } }]);
  });

  test("is only sent when its rule holds, and has the same key in every attempt", async () => {
    const { send, keys } = await come(
      flowWith(
        { mapping: global, rule: handler("return 'yes';") },
        { mapping: global, rule: handler("return 'no';") },
        { mapping: global },
      ),
    );

    await send();
    await send();

    // Those of one attempt go out side by side.
    const [first, second] = [keys().slice(0, 2), keys().slice(2)];
    expect(new Set(first)).toEqual(new Set(["record-1:notification:0", "record-1:notification:2"]));
    expect(new Set(second)).toEqual(new Set(first));
  });

  test("that fails is told as trouble and leaves the others alone", async () => {
    const { send, posts, trouble } = await come(
      flowWith(
        { mapping: global, rule: handler("boom") },
        { mapping: { type: "L", encoding: "B64", code: base64("boom") } },
        { mapping: global },
      ),
    );

    await send();

    expect(posts()).toHaveLength(1);
    expect(trouble).toEqual([
      ["StateNotificationFailed", "boom"],
      ["StateNotificationFailed", "boom"],
    ]);
  });

  test("that is ended early is not done", async () => {
    const { send, trouble } = await come(flowWith({ mapping: global }), {
      signal: AbortSignal.abort(new Error("stopping")),
    });

    await expect(send()).rejects.toThrow("stopping");
    expect(trouble).toEqual([]);
  });

  test("is none in a state without any", async () => {
    const { send, posts } = await come(flowWith());

    await send();

    expect(posts()).toEqual([]);
  });
});
