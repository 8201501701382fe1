/** Reads `Notification.Channels`: `email=smtp`, `sms=webhook:https://…`, `push=dapr:binding`, `*=log`. */
import { StartRefusal } from "../engine/start-refusal.ts";

export type SenderKind = "smtp" | "webhook" | "dapr" | "log";

export interface ChannelBinding {
  /** In lower case, as channels are compared; `*` for all that have no binding of their own. */
  readonly channel: string;
  readonly kind: SenderKind;
  readonly target: string | undefined;
}

export const anyChannel = "*";

const form = /^([^=\s]+)\s*=\s*([a-z]+)(?::(.+))?$/i;
const forms =
  "channel=smtp, channel=webhook:https://address, channel=dapr, channel=dapr:binding and channel=log";

export function readChannelBindings(entries: readonly string[]): ChannelBinding[] {
  const bindings = entries.map(readBinding);
  for (const [i, { channel }] of bindings.entries()) {
    if (bindings.findIndex((other) => other.channel === channel) === i) continue;
    throw new StartRefusal(
      `Notification.Channels binds '${channel}' twice; a channel has one sender.`,
    );
  }
  return bindings;
}

function readBinding(entry: string): ChannelBinding {
  const [, name = "", word = "", target] = form.exec(entry) ?? [];
  const channel = name.toLowerCase();
  const kind = word.toLowerCase();
  const isRight =
    kind === "webhook"
      ? target !== undefined && isWebAddress(target)
      : kind === "dapr" || ((kind === "smtp" || kind === "log") && target === undefined);
  if (isRight) return { channel, kind: kind as SenderKind, target };
  // Not the entry itself: the address of a webhook may be a secret.
  const place = channel === "" ? "an entry" : `the channel '${channel}'`;
  throw new StartRefusal(
    `Notification.Channels cannot be read at ${place}; its entries are ${forms}.`,
  );
}

/** A stray percent sign would have no decoded form. */
const isWebAddress = (text: string) =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && !/%(?![0-9a-f]{2})/i.test(text);
