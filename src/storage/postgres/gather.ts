/**
 * Adaptive batching. Whatever waits at the same moment travels together: one statement and one
 * commit for many instances, no delay when nobody else waits.
 *
 * One batch is under way at a time: an item that arrives meanwhile waits for its end, together with
 * everything else that arrived (with two at a time the batches are half as large, and 32 clients get
 * a tenth less). Only behind a batch that takes long, because a row it needs is locked, say, another
 * one sets out, so that one slow statement does not hold up everybody. With one item waiting the
 * single-row statement is used (the array form costs 2.5 times as much for one row).
 */
import { StorageUnavailable } from "../../engine/storage-unavailable.ts";

export interface Gather<Item, Result> {
  add(item: Item): Promise<Result>;
  /** How many are waiting or under way. */
  readonly load: number;
}

export interface Lanes {
  /** Most batches under way at once, behind slow ones. */
  lanes: number;
  /** How long a batch may take before the next one sets out beside it. */
  patienceMs: number;
}

export interface GatherOptions<Item, Result> extends Lanes {
  largest: number;
  /** Items with a key in common never travel in one batch: the later one must see the earlier one's effect. */
  keysOf?: (item: Item) => readonly string[];
  one(item: Item): Promise<Result>;
  /** Results in the order of the items. All or nothing: after a rejection each is tried alone. */
  many(items: Item[]): Promise<Result[]>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export function createGather<Item, Result>(
  options: GatherOptions<Item, Result>,
): Gather<Item, Result> {
  const { lanes, largest, keysOf, patienceMs } = options;
  let waiting: Waiting<Item, Result>[] = [];
  let busyLanes = 0;
  let underWay = 0;
  let scheduled = false;
  let impatience: NodeJS.Timeout | undefined;
  let lastStart = 0;

  const take = (): Waiting<Item, Result>[] => {
    if (keysOf === undefined) return waiting.splice(0, largest);
    const taken = new Set<string>();
    const batch: Waiting<Item, Result>[] = [];
    const rest: Waiting<Item, Result>[] = [];
    for (const entry of waiting) {
      const keys = keysOf(entry.item);
      const fits = batch.length < largest && !keys.some((key) => taken.has(key));
      (fits ? batch : rest).push(entry);
      // Also those of one that stays behind: nobody overtakes it.
      for (const key of keys) taken.add(key);
    }
    waiting = rest;
    return batch;
  };

  const sendAlone = async ({ item, resolve, reject }: Waiting<Item, Result>) => {
    try {
      resolve(await options.one(item));
    } catch (error) {
      reject(error);
    }
  };

  const sendTogether = async (batch: Waiting<Item, Result>[]) => {
    try {
      const results = await options.many(batch.map((entry) => entry.item));
      for (const [i, entry] of batch.entries()) entry.resolve(results[i]!);
    } catch (error) {
      if (error instanceof StorageUnavailable) {
        for (const entry of batch) entry.reject(error);
        return;
      }
      // Nothing was done, because of one of them. The others must not suffer for it.
      for (const entry of batch) await sendAlone(entry);
    }
  };

  const send = async (batch: Waiting<Item, Result>[]) => {
    busyLanes += 1;
    underWay += batch.length;
    lastStart = performance.now();
    try {
      await (batch.length === 1 ? sendAlone(batch[0]!) : sendTogether(batch));
    } finally {
      busyLanes -= 1;
      underWay -= batch.length;
      pump();
    }
  };

  const pump = () => {
    if (busyLanes === 0 && waiting.length > 0) void send(take());
    if (waiting.length > 0) impatience ??= setTimeout(goBeside, patienceMs);
  };

  /** Somebody has waited this long: unless the batches just follow each other, do not wait more. */
  const goBeside = () => {
    impatience = undefined;
    const isStuck = performance.now() - lastStart >= patienceMs;
    if (isStuck && busyLanes < lanes && waiting.length > 0) void send(take());
    pump();
  };

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (busyLanes > 0) return pump();
        if (scheduled) return;
        // Requests that were parsed in the same turn of the event loop go together.
        scheduled = true;
        setImmediate(() => {
          scheduled = false;
          pump();
        });
      }),
    get load() {
      return waiting.length + underWay;
    },
  };
}
