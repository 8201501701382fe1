/**
 * One connection that listens for notifications of the other nodes. Notifications are hints: while
 * the connection is away they are lost, so `onReconnect` tells the owner to look for itself.
 */
import { Client } from "pg";

export interface Listener {
  close(): Promise<void>;
}

export interface ListenOptions {
  url: string;
  channels: string[];
  onNotification: (channel: string, payload: string) => void;
  onReconnect: () => void;
  onError?: (error: Error) => void;
  applicationName?: string;
}

const firstDelayMs = 100;
const longestDelayMs = 5000;

export function listen(options: ListenOptions): Listener {
  let closed = false;
  let client: Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let delayMs = firstDelayMs;
  let connecting: Promise<void> = Promise.resolve();

  const again = () => {
    if (closed) return;
    timer = setTimeout(() => {
      connecting = connect();
    }, delayMs);
    delayMs = Math.min(delayMs * 2, longestDelayMs);
  };

  const connect = async () => {
    const next = new Client({
      connectionString: options.url,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      connectionTimeoutMillis: 5000,
      application_name: options.applicationName ?? "millrace-listen",
    });
    let ended = false;
    const end = (error?: Error) => {
      if (ended) return;
      ended = true;
      if (error !== undefined) options.onError?.(error);
      void next.end().catch(() => {});
      again();
    };
    next.on("error", end);
    next.on("end", () => end());
    next.on("notification", (message) => {
      options.onNotification(message.channel, message.payload ?? "");
    });
    try {
      await next.connect();
      for (const channel of options.channels) await next.query(`listen ${channel}`);
      client = next;
      delayMs = firstDelayMs;
      if (!closed) options.onReconnect();
    } catch (cause) {
      end(cause as Error);
    }
  };

  connecting = connect();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await connecting;
      await client?.end().catch(() => {});
    },
  };
}
