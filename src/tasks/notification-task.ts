/**
 * Task type 10: one message per channel, each on its own. The mapping's `ChannelHandler` makes the
 * messages; that of the `state` channel is the platform's.
 *
 * A channel that fails is told in the answer and changes nothing else: the task succeeds, because
 * trying it again would send once more what the other channels have sent.
 */
import { variableName } from "../engine/definition/variable-name.ts";
import type { JsonObject } from "../engine/exact-json.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import { NotificationFailed, type Notification } from "../notifications/sender.ts";
import { stateChannel } from "../notifications/state-message.ts";
import type { MessageValue, ScriptAnswer } from "../scripting/contract.ts";
import type { ScriptRequest } from "../scripting/script-host.ts";
import { callHeaders, headerIn } from "./call-headers.ts";
import { mappingHandlers } from "./mapping-handlers.ts";
import { configOf } from "./run-mapped-task.ts";
import { makeStateNotification } from "./state-notification.ts";
import type { TaskContext, TaskInvocation } from "./task-host.ts";
import type { TaskConfig, TaskPorts, TaskType } from "./task-type.ts";

export const notificationTask: TaskType = {
  name: "Notification",
  isEffectful: () => true,
  run: runNotificationTask,
};

const mappedBy = { code: "10", name: "Notification", outputKind: "notification.output" } as const;

async function runNotificationTask(
  ports: TaskPorts,
  invocation: TaskInvocation,
): Promise<TaskOutcome> {
  const { definition, signal, request } = invocation;
  const name = variableName(definition.key);
  const { mapping } = invocation.binding;
  const script = mapping?.type === "global" ? undefined : mapping;
  const handlers = script && mappingHandlers(ports.scripts, invocation, script, mappedBy);
  const config = handlers === undefined ? configOf(invocation) : await handlers.input();
  const scriptRequest = script && request(script, handlers?.seen());

  const startedAt = performance.now();
  const results = await Promise.all(
    channelsOf(config).map((channel) => dispatch(ports, invocation, channel, scriptRequest)),
  );
  signal.throwIfAborted();

  // In the order of the channels, whichever was quicker.
  for (const { answer } of results) if (answer !== undefined) handlers?.take(answer);
  const outcomes = results.map(({ outcome }) => outcome);
  const response = responseOf(outcomes, performance.now() - startedAt);
  const data = await handlers?.output({ name, value: response });
  return { name, response, data, ...handlers?.effects() };
}

/** Each once, the platform's own last. */
function channelsOf({ channels, includeStateChannel }: TaskConfig): string[] {
  const named = Array.isArray(channels) ? channels.map(String) : [];
  const byName = new Map<string, string>();
  for (const channel of named) {
    const name = channel.toLowerCase();
    if (!byName.has(name)) byName.set(name, channel);
  }
  const wantsState = byName.delete(stateChannel) || includeStateChannel !== false;
  return wantsState ? [...byName.values(), stateChannel] : [...byName.values()];
}

type ChannelOutcome =
  | { channel: string; status: "dispatched"; sender: string; rejected?: string[] }
  | { channel: string; status: "skipped" }
  | { channel: string; status: "failed"; error: string };

interface ChannelResult {
  readonly outcome: ChannelOutcome;
  readonly answer: ScriptAnswer | undefined;
}

async function dispatch(
  ports: TaskPorts,
  invocation: TaskInvocation,
  channel: string,
  request: ScriptRequest | undefined,
): Promise<ChannelResult> {
  let answer: ScriptAnswer | undefined;
  try {
    const made = await makeMessage(ports, invocation, channel, request);
    answer = made.answer;
    if (made.notification === undefined) return { outcome: { channel, status: "skipped" }, answer };
    const { sender, rejected } = await ports.notifications.send(
      { ...made.notification, trace: traceOf(invocation.context) },
      { timeoutMs: ports.invocationTimeoutMs, signal: invocation.signal },
    );
    const refused = rejected === undefined ? {} : { rejected: [...rejected] };
    return { outcome: { channel, status: "dispatched", sender, ...refused }, answer };
  } catch (error) {
    if (!(error instanceof StepFailed || error instanceof NotificationFailed)) throw error;
    return { outcome: { channel, status: "failed", error: error.message }, answer };
  }
}

interface Message {
  /** Undefined: nothing is to be sent. */
  readonly notification: Notification | undefined;
  readonly answer: ScriptAnswer | undefined;
}

async function makeMessage(
  { scripts }: TaskPorts,
  { context, executionKey, definition }: TaskInvocation,
  channel: string,
  request: ScriptRequest | undefined,
): Promise<Message> {
  const key = `${executionKey}:${encodeURIComponent(channel)}`;
  if (channel.toLowerCase() === stateChannel) {
    // A function of a domain has no instance whose state there would be to tell.
    return context.instance === undefined
      ? { notification: undefined, answer: undefined }
      : makeStateNotification(scripts, request, context.instance, key);
  }
  if (request === undefined) {
    throw new NotificationFailed(
      `The channel '${channel}' has no message: the task '${definition.key}' has no mapping here. Give it one with a ChannelHandler.`,
    );
  }
  const answer = await scripts.run("notification.channel", request, { channel });
  const message = answer.value as (MessageValue & Pick<Notification, "data">) | null;
  return { notification: message === null ? undefined : { channel, key, ...message }, answer };
}

function traceOf(context: TaskContext): Record<string, string> {
  const headers = callHeaders({ context, executionKey: "" }, {});
  const named = ["traceparent", "tracestate"].flatMap((name): [string, string][] => {
    const value = headerIn(headers, name);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(named);
}

function responseOf(outcomes: readonly ChannelOutcome[], elapsedMs: number): JsonObject {
  const named = (status: ChannelOutcome["status"]) =>
    outcomes.flatMap((outcome) => (outcome.status === status ? [outcome.channel] : []));
  const errors = outcomes.flatMap((outcome) =>
    outcome.status === "failed" ? [{ channel: outcome.channel, message: outcome.error }] : [],
  );
  return {
    data: { channels: outcomes.map((outcome) => ({ ...outcome })) },
    isSuccess: true,
    metadata: { dispatched: named("dispatched"), skipped: named("skipped"), errors },
    executionDurationMs: Math.round(elapsedMs),
    taskType: "notification",
  };
}
