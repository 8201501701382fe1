/**
 * W3C trace context. A valid `traceparent` keeps its trace id and gets a span id of our own; an
 * invalid one is treated as absent, as the recommendation asks, and a new trace begins.
 */
import { randomFillSync } from "node:crypto";

export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits: this request. */
  spanId: string;
  /** `00-<trace>-<span>-<flags>`: the form of `traceId` in problem bodies. */
  traceparent: string;
  /** The caller's `tracestate`, passed on untouched. */
  tracestate: string | undefined;
}

// Versions after 00 may append fields; their first four mean the same.
const wellFormed =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;
const printable = /^[\x20-\x7e]{1,512}$/;

export function traceContextOf(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext {
  const caller = traceparent === undefined ? null : wellFormed.exec(traceparent);
  // Version 00 has exactly four fields.
  if (caller === null || (caller[3] !== undefined && caller[0].startsWith("00"))) {
    return context(randomHex(16), randomHex(8), "01", undefined);
  }
  const sampled = Number.parseInt(caller[2]!, 16) % 2 === 1;
  return context(
    caller[1]!,
    randomHex(8),
    sampled ? "01" : "00",
    tracestate !== undefined && printable.test(tracestate) ? tracestate : undefined,
  );
}

const context = (
  traceId: string,
  spanId: string,
  flags: string,
  tracestate: string | undefined,
): TraceContext => ({
  traceId,
  spanId,
  traceparent: `00-${traceId}-${spanId}-${flags}`,
  tracestate,
});

/** Random digits in bulk: one system call serves a few hundred requests. */
const randomHex = (() => {
  const pool = Buffer.allocUnsafeSlow(4096);
  let used = pool.length;
  return (bytes: number): string => {
    if (used + bytes > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += bytes;
    return pool.toString("hex", used - bytes, used);
  };
})();
