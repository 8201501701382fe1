/**
 * A read of the state that is held until the caller would see something it does not know, or its
 * time is over. The public clients ask again every few seconds; with `wait` one request is enough.
 */
import type { FastifyReply } from "fastify";
import type { RenderedState } from "../functions/render-state.ts";
import type { LiveReaders } from "./live-readers.ts";
import type { WatchedState } from "./watch-state.ts";

export interface Hold {
  readers: LiveReaders;
  reply: FastifyReply;
  waitMs: number;
  isKnown: (state: RenderedState) => boolean;
  watched: WatchedState;
}

export async function holdState({
  readers,
  reply,
  waitMs,
  isKnown,
  watched,
}: Hold): Promise<RenderedState> {
  const first = await watched.show();
  if (!isKnown(first)) return first;
  const reader = readers.open(reply);
  const timer = setTimeout(reader.end, waitMs);
  try {
    watched.wake(reader.change);
    for (let state = first; ; state = await watched.show()) {
      if (!isKnown(state) || (await reader.next()) === "over") return state;
    }
  } finally {
    clearTimeout(timer);
    reader.close();
  }
}
