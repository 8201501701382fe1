import { setTimeout as delay } from "node:timers/promises";
import type { Instance } from "../engine/instance.ts";
import type { InstanceStore, RepeatOf } from "../storage/instance-store.ts";
import type { Outcome } from "./instances.ts";
import { dataUpTo } from "./read-data.ts";

const repeatWaitMs = 20;

/**
 * The outcome of the first request with this idempotency key: its status, and the data as its chain
 * left them. One that is still under way is waited for. Undefined when there was none.
 */
export async function outcomeOfRepeat(
  store: InstanceStore,
  instance: Instance,
  of: RepeatOf,
  signal: AbortSignal | undefined,
): Promise<Outcome | undefined> {
  for (;;) {
    const repeat = await store.findRepeat(of);
    if (repeat === undefined) return undefined;
    const { status, lastSeq, isBelow } = repeat;
    if (status === undefined || (lastSeq === undefined && !isBelow)) {
      await delay(repeatWaitMs, undefined, signal === undefined ? {} : { signal });
      continue;
    }
    // What was read before the outcome was known may be older than the outcome.
    const { domain, flow, id: reference } = instance;
    const now = (await store.find({ domain, flow, reference })) ?? instance;
    // What a subflow did is told by how the instance stands that waited for it.
    if (lastSeq === undefined) return { instance: now, accepted: false };
    const then = lastSeq === now.lastSeq ? now : await dataUpTo(store, now, lastSeq);
    return { instance: { ...then, status }, accepted: false };
  }
}
