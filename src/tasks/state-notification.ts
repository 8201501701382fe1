/** The platform's message on the `state` channel, with what a mapping's `EnrichAsync` adds to it. */
import type { Instance } from "../engine/instance.ts";
import type { Notification } from "../notifications/sender.ts";
import { stateMessage } from "../notifications/state-message.ts";
import type { MetadataValue, ScriptAnswer } from "../scripting/contract.ts";
import type { ScriptHost, ScriptRequest } from "../scripting/script-host.ts";

export interface StateNotificationMade {
  readonly notification: Notification;
  /** What the script answered; none without a script. */
  readonly answer: ScriptAnswer | undefined;
}

/** `request` is for the mapping's script, if it has one; the script may do without the handler. */
export async function makeStateNotification(
  scripts: ScriptHost,
  request: ScriptRequest | undefined,
  instance: Instance,
  key: string,
): Promise<StateNotificationMade> {
  const answer = request && (await scripts.run("notification.state", request));
  const enrichment = (answer?.value ?? undefined) as MetadataValue | undefined;
  return { notification: stateMessage(instance, key, enrichment), answer };
}
