/** Reading the state of an instance as it changes: held until it does, or as a stream of events. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Runtime } from "../runtime/runtime.ts";
import type { HttpServer } from "./create-server.ts";
import { etagMatches } from "./etag.ts";
import { holdState } from "./hold-state.ts";
import { createLiveReaders } from "./live-readers.ts";
import { Type } from "./schema.ts";
import { showState, type ShownState } from "./show-state.ts";
import { createStateStreams, type StreamOptions } from "./state-streams.ts";

export interface LiveOptions extends StreamOptions {
  maxWaiters: number;
}

const InstancePath = Type.Object({
  domain: Type.String(),
  workflow: Type.String(),
  instance: Type.String({ description: "id or business key" }),
});

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
          wait: Type.Optional(
            Type.Number({
              minimum: 0,
              description:
                "seconds, at most 60: with If-None-Match, hold the request until the ETag changes",
            }),
          ),
        }),
        headers: Type.Object({ "if-none-match": Type.Optional(Type.String()) }),
      },
    },
    async (request, reply) => {
      const { wait = 0 } = request.query;
      const known = request.headers["if-none-match"];
      const isKnown = ({ eTag }: ShownState) => etagMatches(known, eTag);
      const { changes } = runtime();
      const show = reader(runtime, request);
      const waitMs = Math.min(wait, longestWaitSeconds) * 1000;
      const state =
        waitMs > 0 && known !== undefined
          ? await holdState({ readers, changes, reply, waitMs, isKnown, show })
          : await show();
      return sendState(reply, state, isKnown(state));
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
        headers: Type.Object({ "last-event-id": Type.Optional(Type.String()) }),
        produces: ["text/event-stream"],
      },
    },
    async (request, reply) => {
      const lastEventId = request.headers["last-event-id"];
      const { changes } = runtime();
      await streams.run({ readers, changes, reply, lastEventId, show: reader(runtime, request) });
      return reply;
    },
  );
}

/** The first time by what the caller said, then always the same instance: a key may change hands. */
function reader(
  runtime: () => Runtime,
  request: FastifyRequest<{ Params: Record<"domain" | "workflow" | "instance", string> }>,
): () => Promise<ShownState> {
  const { domain, workflow: flow, instance } = request.params;
  let reference = instance;
  return async () => {
    const state = await showState(runtime(), { domain, flow, reference }, request);
    reference = state.instanceId;
    return state;
  };
}

function sendState(
  reply: FastifyReply,
  { eTag, entityEtag, json }: ShownState,
  isKnown: boolean,
): FastifyReply {
  reply.header("etag", eTag).header("x-entity-etag", entityEtag);
  if (isKnown) return reply.status(304).send();
  return reply.type("application/json; charset=utf-8").send(json);
}
