/** Reading the state of an instance as it changes: held until it does, or as a stream of events. */
import type { FastifyReply } from "fastify";
import type { RenderedState } from "../functions/render-state.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { HttpServer } from "./create-server.ts";
import { etagMatches } from "./etag.ts";
import { holdState } from "./hold-state.ts";
import { createLiveReaders } from "./live-readers.ts";
import { Type } from "./schema.ts";
import { createStateStreams, type StreamOptions } from "./state-streams.ts";
import { readState, watchState } from "./watch-state.ts";

export interface LiveOptions extends StreamOptions {
  maxWaiters: number;
}

const InstancePath = Type.Object({
  domain: Type.String(),
  workflow: Type.String(),
  instance: Type.String({ description: "id or business key" }),
});

const list = Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]));
const StateQuery = { extensions: list, role: list };

const statePath = "/api/v1/:domain/workflows/:workflow/instances/:instance/functions/state";
const tags = ["functions"];
const longestWaitSeconds = 60;

export function addLiveRoutes(
  app: HttpServer,
  runtime: () => Runtime,
  { maxWaiters, ...streaming }: LiveOptions,
): void {
  const readers = createLiveReaders(app, maxWaiters);
  const streams = createStateStreams(app, streaming);

  app.get(
    statePath,
    {
      schema: {
        summary: "The state of an instance, for this caller; with 'wait', when it has changed",
        tags,
        params: InstancePath,
        querystring: Type.Object({
          ...StateQuery,
          wait: Type.Optional(
            Type.Number({
              minimum: 0,
              description:
                "seconds, at most 60: with If-None-Match, hold the request until the ETag changes",
            }),
          ),
        }),
        headers: Type.Object({ "if-none-match": Type.Optional(Type.String()) }),
        response: {
          200: Type.Unknown({ description: "the state function's answer" }),
          304: Type.Null({ description: "unchanged" }),
        },
      },
    },
    async (request, reply) => {
      const { wait = 0 } = request.query;
      const known = request.headers["if-none-match"];
      const isKnown = ({ eTag }: RenderedState) => etagMatches(known, eTag);
      const waitMs = Math.min(wait, longestWaitSeconds) * 1000;
      if (waitMs === 0 || known === undefined) {
        const state = await readState(runtime(), request);
        return sendState(reply, state, isKnown(state));
      }
      const watched = await watchState(runtime(), request);
      try {
        const state = await holdState({ readers, reply, waitMs, isKnown, watched });
        return sendState(reply, state, isKnown(state));
      } finally {
        watched.close();
      }
    },
  );

  app.get(
    `${statePath}/stream`,
    {
      exposeHeadRoute: false,
      schema: {
        summary: "The state of an instance, for this caller, as Server-Sent Events",
        tags,
        params: InstancePath,
        querystring: Type.Object(StateQuery),
        headers: Type.Object({ "last-event-id": Type.Optional(Type.String()) }),
        response: {
          200: {
            description: "events 'state', 'end' and 'problem'",
            content: { "text/event-stream": { schema: Type.String() } },
          },
          204: Type.Null({
            description: "the caller knows the last state of a completed instance",
          }),
        },
      },
    },
    async (request, reply) => {
      const lastEventId = request.headers["last-event-id"];
      const watched = await watchState(runtime(), request);
      try {
        await streams.run({ readers, reply, lastEventId, watched });
      } finally {
        watched.close();
      }
      return reply;
    },
  );
}

function sendState(
  reply: FastifyReply,
  { eTag, entityEtag, json }: RenderedState,
  isKnown: boolean,
): FastifyReply {
  reply.header("etag", eTag).header("x-entity-etag", entityEtag);
  if (isKnown) return reply.status(304).send();
  return reply.type("application/json; charset=utf-8").send(json);
}
