/**
 * The `notifications` of a state, sent after an instance has come to rest there: each whose rule
 * holds is the platform's message on the `state` channel, with what its mapping adds.
 *
 * A notification that fails is logged and changes nothing: neither the instance nor the others.
 */
import type { State, StateNotification } from "../engine/definition/model.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { Instance } from "../engine/instance.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { NotificationFailed, type Notifications } from "../notifications/sender.ts";
import type { ScriptHost, ScriptRequest } from "../scripting/script-host.ts";
import { makeStateNotification } from "../tasks/state-notification.ts";

export interface StateNotificationPorts {
  scripts: ScriptHost;
  notifications: Notifications;
  /** Ceiling of each sending. */
  invocationTimeoutMs: number;
  onTrouble: (event: string, error: unknown) => void;
}

export interface Rest {
  /** As it came to rest. */
  instance: Instance;
  state: Pick<State, "notifications">;
  /** Of this rest and no other, the same in every attempt: the id of the transition's record, say. */
  key: string;
  request: (script: ScriptCode) => ScriptRequest;
  /** Throws its reason when aborted, so that the rest can be taken up again. */
  signal: AbortSignal;
}

export async function sendStateNotifications(
  ports: StateNotificationPorts,
  rest: Rest,
): Promise<void> {
  await Promise.all(
    rest.state.notifications.map((notification, position) =>
      sendOne(ports, rest, notification, `${rest.key}:notification:${position}`).catch(
        (error: unknown) => {
          rest.signal.throwIfAborted();
          if (!(error instanceof StepFailed || error instanceof NotificationFailed)) throw error;
          ports.onTrouble("StateNotificationFailed", error);
        },
      ),
    ),
  );
}

async function sendOne(
  { scripts, notifications, invocationTimeoutMs: timeoutMs }: StateNotificationPorts,
  { instance, request, signal }: Rest,
  { rule, mapping }: StateNotification,
  key: string,
): Promise<void> {
  if (rule !== undefined && !(await scripts.holds(request(rule)))) return;
  const script = mapping.type === "global" ? undefined : request(mapping);
  const { notification } = await makeStateNotification(scripts, script, instance, key);
  await notifications.send(notification, { timeoutMs, signal });
}
