/** Wires channels to their senders, by the configuration. */
import { createSecretMask } from "../engine/mask-secrets.ts";
import { StartRefusal } from "../engine/start-refusal.ts";
import type { DaprSidecar } from "../outgoing/dapr-sidecar.ts";
import type { HttpClient } from "../outgoing/http-client.ts";
import { anyChannel, readChannelBindings, type ChannelBinding } from "./channel-bindings.ts";
import { createDaprSender } from "./dapr-sender.ts";
import { createLogSender, type WriteLog } from "./log-sender.ts";
import { readMailbox, type Mailbox } from "./mailbox.ts";
import { NotificationFailed, type Notifications, type Sender } from "./sender.ts";
import { createSmtpSender, type SmtpOptions } from "./smtp-sender.ts";
import { stateChannel } from "./state-message.ts";
import { createWebhookSender } from "./webhook-sender.ts";

export interface NotificationOptions {
  /** `Notification.Channels`. */
  readonly channels: readonly string[];
  readonly smtp: { readonly url: string; readonly from: string; readonly tls: SmtpOptions["tls"] };
  readonly webhookSecret: string;
  /** None without `Dapr.HttpEndpoint`. */
  readonly dapr: DaprSidecar | undefined;
  readonly http: HttpClient;
  readonly log: WriteLog;
  /** A fault of ours, which the task's answer only hints at. */
  readonly onTrouble: (event: string, error: unknown) => void;
  readonly now: () => Date;
}

/** Throws `StartRefusal` when a channel is bound to what is not configured. */
export function openNotifications(options: NotificationOptions): Notifications {
  const bindings = readChannelBindings(options.channels);
  const senders = new Map(
    bindings.map((binding) => [binding.channel, senderOf(binding, options)] as const),
  );
  // The platform's own channel works without any configuration.
  const byDefault = new Map([[stateChannel, createLogSender(options.log)]]);
  const senderFor = (channel: string): Sender => {
    const name = channel.toLowerCase();
    const sender = senders.get(name) ?? senders.get(anyChannel) ?? byDefault.get(name);
    if (sender !== undefined) return sender;
    throw new NotificationFailed(
      `The channel '${channel}' has no sender. Bind it in Notification.Channels, for example '${channel}=smtp' or '${channel}=webhook:https://…'.`,
    );
  };
  const mask = createSecretMask(secretsOf(options, bindings)).text;
  return {
    async send(notification, bounds) {
      try {
        return await senderFor(notification.channel)(notification, bounds);
      } catch (error) {
        const { message, stack = message } = error as Error;
        const failed = new NotificationFailed(mask(message));
        if (!(error instanceof NotificationFailed)) {
          options.onTrouble("NotificationFault", Object.assign(failed, { stack: mask(stack) }));
        }
        throw failed;
      }
    },
  };
}

function senderOf({ channel, kind, target }: ChannelBinding, options: NotificationOptions): Sender {
  const { http, smtp, dapr, webhookSecret: secret, now, log } = options;
  const need = <T>(value: T | "" | undefined, setting: string): T => {
    if (value !== "" && value !== undefined) return value;
    throw new StartRefusal(
      `Notification.Channels binds '${channel}' to ${kind}, which needs ${setting}. Set it, or bind the channel to another sender.`,
    );
  };
  switch (kind) {
    case "log":
      return createLogSender(log);
    case "webhook":
      return createWebhookSender(http, { url: target!, secret, now });
    case "dapr":
      return createDaprSender(need(dapr, "Dapr.HttpEndpoint"), target);
    case "smtp": {
      const url = need(smtp.url, "Notification.Smtp.Url");
      const from = senderAddress(need(smtp.from, "Notification.Smtp.From"));
      return createSmtpSender({ url, from, tls: smtp.tls });
    }
  }
}

function senderAddress(text: string): Mailbox {
  try {
    return readMailbox(text, "from");
  } catch (error) {
    if (!(error instanceof NotificationFailed)) throw error;
    throw new StartRefusal(
      `Notification.Smtp.From is '${text}'; it must be one address, such as 'Orders <orders@example.com>'.`,
    );
  }
}

/** What may not leave in a message. The path of a webhook is often all that protects it. */
function secretsOf(
  { smtp, webhookSecret }: NotificationOptions,
  bindings: readonly ChannelBinding[],
): string[] {
  const webhooks = bindings.flatMap(({ kind, target }) => {
    if (kind !== "webhook") return [];
    const { username, password, pathname, search } = new URL(target!);
    return [username, password, search, pathname];
  });
  const mail = smtp.url === "" ? "" : new URL(smtp.url).password;
  return [mail, decodeURIComponent(mail), webhookSecret, ...webhooks];
}
