/**
 * Trouble that passes by itself, without filling the log. While the database is away every part of
 * the service notices, again and again: the first of a kind is written, then once a minute one with
 * how often it has happened since. Anything else is written each time, with its stack.
 */
import { StorageUnavailable } from "./engine/storage-unavailable.ts";
import type { Log } from "./log.ts";

export type TroubleLog = (event: string, error: unknown) => void;

const quietMs = 60_000;
const mostKinds = 100;

export function createTroubleLog(
  log: Log,
  now: () => number = () => performance.now(),
): TroubleLog {
  const kinds = new Map<string, { writtenAt: number; since: number }>();
  return (event, err) => {
    if (!(err instanceof StorageUnavailable)) return log.warn({ err }, event);
    const { reason } = err;
    const name = `${event} ${reason}`;
    const kind = kinds.get(name);
    if (kind !== undefined && now() - kind.writtenAt < quietMs) {
      kind.since += 1;
      return;
    }
    if (kinds.size >= mostKinds) kinds.clear();
    kinds.set(name, { writtenAt: now(), since: 0 });
    log.warn(kind === undefined ? { reason } : { reason, timesSince: kind.since + 1 }, event);
  };
}
