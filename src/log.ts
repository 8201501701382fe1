/**
 * Logs, written one way: JSON lines by pino, each an event with a name and fields. Secrets are taken
 * out twice: by key while the event is still an object, by value in the finished line. The second
 * pass sees everything that is written, so nothing slips past the first.
 */
import { createRequire } from "node:module";
import pino, { type DestinationStream, type Logger } from "pino";
import { createSecretMask } from "./engine/mask-secrets.ts";

export type Log = Logger;

export interface LogOptions {
  level: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
  /** Readable lines for people instead of JSON. */
  pretty?: boolean;
  /** Standard output unless given. */
  destination?: DestinationStream;
  /** Values that must never be written, whatever they are called: database password, tokens. */
  secrets?: readonly string[];
}

export function createLog(options: LogOptions): Log {
  const mask = createSecretMask(options.secrets);
  // Buffered while a write is under way, flushed at exit: a slow terminal does not slow requests.
  const destination = options.destination ?? pino.destination({ dest: 1, sync: false });
  return pino(
    {
      level: options.level,
      base: { service: "millrace" },
      timestamp: createTimestamp(),
      // The mask has made a plain object of the error; pino's own serializer would rename its type.
      serializers: { err: (error: unknown) => error },
      formatters: {
        level: (level) => ({ level }),
        bindings: mask.event,
        log: mask.event,
      },
      hooks: { streamWrite: mask.text },
    },
    options.pretty === true ? prettyStream(destination) : destination,
  );
}

/** `,"time":"2026-01-31T12:00:00.000Z"`. The date is spelt once a second: that is most of the work. */
function createTimestamp(): () => string {
  let second = -1;
  let spelt = "";
  return () => {
    const now = Date.now();
    const current = Math.trunc(now / 1000);
    if (current !== second) {
      second = current;
      spelt = `,"time":"${new Date(current * 1000).toISOString().slice(0, 20)}`;
    }
    return `${spelt}${String(now % 1000).padStart(3, "0")}Z"`;
  };
}

/** pino-pretty is for development and may be absent in production: then lines stay JSON. */
function prettyStream(destination: DestinationStream): DestinationStream {
  try {
    const pretty = createRequire(import.meta.url)("pino-pretty") as (
      options: object,
    ) => DestinationStream;
    return pretty({
      destination,
      ignore: "pid,hostname,service",
      translateTime: "HH:MM:ss.l",
      // A request is one line: what somebody is looking for stays on the screen.
      singleLine: true,
    });
  } catch {
    return destination;
  }
}
