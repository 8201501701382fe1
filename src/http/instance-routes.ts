import type { FastifyReply } from "fastify";
import { Type } from "./schema.ts";
import { instanceJson } from "../runtime/instance-output.ts";
import { listJson } from "../runtime/list-output.ts";
import { readInstance } from "../runtime/read-instance.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { extensionsOf } from "./extensions-of.ts";
import type { HttpServer } from "./create-server.ts";
import { etagMatches } from "./etag.ts";
import {
  InstanceListOutput,
  InstanceListQuery,
  readListQuery,
  sentBeside,
} from "./instance-list.ts";
import { GetInstanceOutput } from "./instance-output.ts";
import { versionIn, type Query } from "./query-string.ts";
import { viewerOf } from "./viewer.ts";

const WorkflowPath = Type.Object({ domain: Type.String(), workflow: Type.String() });
const InstancePath = Type.Object({
  domain: Type.String(),
  workflow: Type.String(),
  instance: Type.String({ description: "id or business key" }),
});

const instancesPath = "/api/v1/:domain/workflows/:workflow/instances";
const instancePath = `${instancesPath}/:instance`;

/** Reading instances. Definitions are instances of the system flows and are read the same way. */
export function addInstanceRoutes(app: HttpServer, runtime: () => Runtime): void {
  app.addSchema(GetInstanceOutput);

  app.get(
    instancesPath,
    {
      config: { checksQueryItself: true },
      schema: {
        summary: "List instances",
        tags: ["instances"],
        params: WorkflowPath,
        querystring: InstanceListQuery,
        response: { 200: InstanceListOutput },
      },
    },
    async (request, reply) => {
      const { domain, workflow } = request.params;
      const query = readListQuery(request.query as Query);
      const list = await runtime().listInstances({ domain, workflow }, query, viewerOf(request));
      const others = sentBeside(request.originalUrl);
      return sendJson(reply, listJson({ domain, workflow }, query, list, others));
    },
  );

  app.get(
    instancePath,
    {
      schema: {
        summary: "Read one instance",
        tags: ["instances"],
        params: InstancePath,
        querystring: Type.Object({
          version: Type.Optional(Type.String()),
          extensions: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
        }),
        headers: Type.Object({ "if-none-match": Type.Optional(Type.String()) }),
        response: {
          200: Type.Ref("GetInstanceOutput"),
          304: Type.Null({ description: "unchanged" }),
        },
      },
    },
    async (request, reply) => {
      const { domain, workflow, instance } = request.params;
      const version = versionIn(request.query.version);
      const wanted = { domain, workflow, instance, version };
      const found = await readInstance(runtime(), wanted, viewerOf(request));
      const { output, eTag } = found;
      const isKnown = etagMatches(request.headers["if-none-match"], eTag);
      const extensionsText = isKnown ? "" : await extensionsOf(runtime(), request, found.instance);
      reply.header("etag", eTag).header("x-entity-etag", output.entityEtag);
      return isKnown
        ? sendUnchanged(reply)
        : sendJson(reply, instanceJson(output, { eTag, extensionsText }));
    },
  );
}

const sendJson = (reply: FastifyReply, json: string) =>
  reply.type("application/json; charset=utf-8").send(json);
const sendUnchanged = (reply: FastifyReply) => reply.status(304).send();
