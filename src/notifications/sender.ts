/**
 * Sending messages to people and to other systems, by channel. Which sender a channel has is the
 * operator's choice (`Notification.Channels`); definitions only name channels.
 */
import type { JsonValue } from "../engine/exact-json.ts";

export interface Notification {
  readonly channel: string;
  /**
   * The same in every attempt, also after a crash, and no other notification's: receivers recognise
   * a repetition by it.
   */
  readonly key: string;
  /** `create` unless a script says otherwise; what it means is up to the receiver. */
  readonly operation: string;
  readonly data: JsonValue;
  readonly metadata: Readonly<Record<string, string>>;
  /** Headers of the trace it belongs to, sent along where the way has headers. */
  readonly trace?: Readonly<Record<string, string>>;
}

export interface Bounds {
  /** For the whole sending. */
  readonly timeoutMs: number;
  /** Aborted when nobody waits for the outcome any more. */
  readonly signal: AbortSignal;
}

export interface Sent {
  /** What kind of sender it was: `smtp`. */
  readonly sender: string;
  /** Of several receivers, those that were refused while others were served. */
  readonly rejected?: readonly string[];
}

export interface Notifications {
  /** Throws `NotificationFailed`, whatever the reason; its message has no secrets. */
  send(notification: Notification, bounds: Bounds): Promise<Sent>;
}

/** One way of sending. Throws `NotificationFailed`; anything else that it throws is a fault. */
export type Sender = (notification: Notification, bounds: Bounds) => Promise<Sent>;

export class NotificationFailed extends Error {
  override readonly name = "NotificationFailed";
}
