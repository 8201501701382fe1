/**
 * The state of an instance as Server-Sent Events, one event for each state the caller gets to see.
 *
 *   state    data is the state function's answer for this caller, id its ETag
 *   end      the instance has ended; nothing follows
 *   problem  the caller may no longer look, or something failed; nothing follows
 *
 * Only the newest state is ever sent: what changes while an event is on its way, or while the caller
 * takes its time to read, is one event afterwards. A caller that reads nothing for two heartbeats is
 * cut. Streams have a longest life, so that an identity is checked anew from time to time; clients
 * come back by themselves, and `Last-Event-ID` spares them what they know.
 */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import { Problem } from "../engine/problem.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { RenderedState } from "../functions/render-state.ts";
import type { HttpServer } from "./create-server.ts";
import { etagMatches } from "./etag.ts";
import type { LiveReader, LiveReaders } from "./live-readers.ts";
import type { WatchedState } from "./watch-state.ts";

export interface StreamOptions {
  heartbeatMs: number;
  /** Then the client has to connect again. */
  longestMs: number;
}

export interface StateStream {
  readers: LiveReaders;
  reply: FastifyReply;
  lastEventId: string | undefined;
  watched: WatchedState;
}

export interface StateStreams {
  /** Resolves when the stream has ended; rejects, with nothing sent, when it may not begin. */
  run(stream: StateStream): Promise<void>;
}

/** How soon clients come back. */
const retryMs = 2000;
/** Between two events of one stream. */
const eventGapMs = 50;
const databaseAwayMs = 1000;

export function createStateStreams(app: HttpServer, options: StreamOptions): StateStreams {
  const hearts = startHearts(app, options);
  return {
    async run({ readers, reply, lastEventId, watched }) {
      const first = await watched.show();
      // An event source that gets this does not come back.
      if (first.isEnded && etagMatches(lastEventId, first.eTag))
        return void reply.status(204).send();
      const reader = readers.open(reply);
      const response = begin(reply);
      const stopHeart = hearts.add(response, reader);
      response.on("drain", reader.change);
      watched.wake(reader.change);
      try {
        await follow({ response, reader, watched }, first, lastEventId);
      } catch (error) {
        if (!(error instanceof Problem)) reply.log.error({ err: error }, "StateStreamFailed");
        send(response, problemEvent(error));
      } finally {
        stopHeart();
        reader.close();
        response.end();
      }
    },
  };
}

function begin(reply: FastifyReply): ServerResponse {
  reply.hijack();
  const { raw } = reply;
  reply.headers({
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    connection: "close",
  });
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  // Of a caller who has gone in the middle of a write; `close` has told the reader.
  raw.on("error", () => {});
  send(raw, `retry: ${retryMs}\n\n`);
  return raw;
}

function send(response: ServerResponse, text: string): void {
  if (!response.destroyed) response.write(text);
}

interface Following {
  response: ServerResponse;
  reader: LiveReader;
  watched: WatchedState;
}

async function follow(
  { response, reader, watched }: Following,
  first: RenderedState,
  known = "",
): Promise<void> {
  let shown = known;
  let state: RenderedState | undefined = first;
  while (state !== undefined) {
    const isNews = !etagMatches(shown, state.eTag);
    if (isNews) send(response, event("state", state.eTag, state.json));
    if (state.isEnded) return send(response, event("end", state.eTag, "{}"));
    shown = state.eTag;
    const restedAt = performance.now() + (isNews ? eventGapMs : 0);
    state = await next({ response, reader, watched }, restedAt);
  }
}

/** Undefined when nobody is there to see it. */
async function next(
  { response, reader, watched }: Following,
  restedAt: number,
): Promise<RenderedState | undefined> {
  while ((await reader.next()) === "changed") {
    const restMs = restedAt - performance.now();
    if (restMs > 0) await delay(restMs);
    // Somebody who has not read the last event yet gets the newest state when that is done.
    if (response.writableNeedDrain) continue;
    try {
      return await watched.show();
    } catch (error) {
      // A database that is away for a moment is no reason to send everybody away.
      if (!(error instanceof StorageUnavailable)) throw error;
      await delay(databaseAwayMs);
      reader.change();
    }
  }
  return undefined;
}

/** The data are JSON in one line. */
const event = (name: string, id: string, data: string) =>
  `event: ${name}\nid: ${id}\ndata: ${data}\n\n`;

function problemEvent(error: unknown): string {
  const { status, errorCode, message } =
    error instanceof Problem
      ? error
      : { status: 500, errorCode: undefined, message: "The stream failed. Connect again." };
  return `event: problem\ndata: ${JSON.stringify({ status, errorCode, detail: message })}\n\n`;
}

interface Heart {
  response: ServerResponse;
  reader: LiveReader;
  endsAt: number;
  isLate: boolean;
}

/** One timer for all streams. */
function startHearts(app: HttpServer, { heartbeatMs, longestMs }: StreamOptions) {
  const hearts = new Set<Heart>();
  let timer: NodeJS.Timeout | undefined;
  const beat = () => {
    for (const heart of hearts) {
      const { response, reader } = heart;
      if (response.writableNeedDrain && heart.isLate) response.destroy();
      else if (!response.writableNeedDrain) send(response, ":\n\n");
      heart.isLate = response.writableNeedDrain;
      if (performance.now() >= heart.endsAt) reader.end();
    }
  };
  app.addHook("onClose", (_app, done) => {
    clearInterval(timer);
    done();
  });
  return {
    add(response: ServerResponse, reader: LiveReader) {
      const heart = { response, reader, endsAt: performance.now() + longestMs, isLate: false };
      hearts.add(heart);
      timer ??= setInterval(beat, heartbeatMs);
      return () => {
        hearts.delete(heart);
        if (hearts.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}
