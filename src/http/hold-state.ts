/**
 * A read of the state that is held until the caller would see something it does not know, or its
 * time is over. The public clients ask again every few seconds; with `wait` one request is enough.
 */
import type { FastifyReply } from "fastify";
import type { InstanceChanges } from "../runtime/changes.ts";
import type { LiveReaders } from "./live-readers.ts";
import type { ShownState } from "./show-state.ts";

export interface Hold {
  readers: LiveReaders;
  changes: InstanceChanges;
  reply: FastifyReply;
  waitMs: number;
  isKnown: (state: ShownState) => boolean;
  /** Reads it anew each time, and throws when the caller may no longer look. */
  show: () => Promise<ShownState>;
}

export async function holdState(hold: Hold): Promise<ShownState> {
  const { isKnown, show } = hold;
  const first = await show();
  if (!isKnown(first)) return first;
  const reader = hold.readers.open(hold.reply);
  const watch = hold.changes.watch(first.instanceId, reader.change);
  const timer = setTimeout(reader.end, hold.waitMs);
  try {
    for (;;) {
      // Also the first time: it may have changed before anybody watched.
      const state = await show();
      watch.saw(state.rev, state.children);
      if (!isKnown(state) || (await reader.next()) === "over") return state;
    }
  } finally {
    clearTimeout(timer);
    watch.close();
    reader.close();
  }
}
