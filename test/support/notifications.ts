/** Senders as the service opens them, and a notification to send. */
import { onTestFinished } from "vitest";
import {
  openNotifications,
  type NotificationOptions,
} from "../../src/notifications/open-notifications.ts";
import type { Notification, Notifications, Sent } from "../../src/notifications/sender.ts";
import { daprSidecar } from "../../src/outgoing/dapr-sidecar.ts";
import { openHttpClient } from "../../src/outgoing/open-http-client.ts";

export type LogEntry = { event: string } & Record<string, unknown>;

export interface TestNotifications {
  notifications: Notifications;
  /** What the log sender wrote, and what was told as trouble. */
  logged: LogEntry[];
  send(notification: Partial<Notification>, bounds?: TestBounds): Promise<Sent>;
}

interface TestBounds {
  timeoutMs?: number;
  signal?: AbortSignal;
}

type Given = Partial<Omit<NotificationOptions, "channels" | "dapr">> & {
  dapr?: { endpoint: string; apiToken: string };
};

/** For one test; `channels` as in `Notification.Channels`. */
export function openTestNotifications(channels: string[], given: Given = {}): TestNotifications {
  const { dapr = { endpoint: "", apiToken: "" }, ...options } = given;
  const http = openHttpClient();
  onTestFinished(() => http.close());
  const logged: LogEntry[] = [];
  const notifications = openNotifications({
    channels,
    smtp: { url: "", from: "", tls: "off" },
    webhookSecret: "",
    dapr: daprSidecar(http, dapr),
    http,
    log: (event, fields) => logged.push({ ...fields, event }),
    onTrouble: (event, error) => logged.push({ event, error }),
    now: () => new Date(),
    ...options,
  });
  return {
    notifications,
    logged,
    send: (
      { channel = "email", ...notification },
      { timeoutMs = 60_000, signal = new AbortController().signal } = {},
    ) =>
      notifications.send(
        {
          channel,
          key: "record:onEntry:0:0",
          operation: "create",
          data: {},
          metadata: {},
          ...notification,
        },
        { timeoutMs, signal },
      ),
  };
}
