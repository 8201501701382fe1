import type { FastifyReply } from "fastify";
import { Type } from "./schema.ts";
import type { Component } from "../engine/component.ts";
import { isComponentKind, type ComponentKind } from "../engine/component-kind.ts";
import { stringifyJson } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { HttpServer } from "./create-server.ts";
import { etagMatches, etagOf } from "./etag.ts";
import { instanceEtag } from "./instance-etag.ts";
import { InstanceListOutput, InstanceListQuery, listJson, readListQuery } from "./instance-list.ts";
import {
  GetInstanceOutput,
  instanceJson,
  instanceOutput,
  type InstanceOutput,
} from "./instance-output.ts";
import { versionIn, type Query } from "./query-string.ts";

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
      const list = await runtime().listInstances({ domain, workflow }, query);
      const wanted = { domain, workflow, url: request.originalUrl };
      return sendJson(reply, listJson(wanted, query, list));
    },
  );

  app.get(
    instancePath,
    {
      schema: {
        summary: "Read one instance",
        tags: ["instances"],
        params: InstancePath,
        querystring: Type.Object({ version: Type.Optional(Type.String()) }),
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
      const found = isComponentKind(workflow)
        ? await findDefinition(runtime(), { ...wanted, kind: workflow })
        : await findInstance(runtime(), wanted);
      if (found === undefined) throw problems.instanceNotFound(wanted);
      const { eTag, entityEtag } = found;
      reply.header("etag", eTag).header("x-entity-etag", entityEtag);
      const isKnown = etagMatches(request.headers["if-none-match"], eTag);
      return isKnown ? sendUnchanged(reply) : sendJson(reply, instanceJson(found));
    },
  );
}

const sendJson = (reply: FastifyReply, json: string) =>
  reply.type("application/json; charset=utf-8").send(json);
const sendUnchanged = (reply: FastifyReply) => reply.status(304).send();

type Found = (InstanceOutput & { eTag: string }) | undefined;

async function findDefinition(
  runtime: Runtime,
  wanted: { domain: string; kind: ComponentKind; instance: string; version: string | undefined },
): Promise<Found> {
  const component = await runtime.findDefinition(wanted);
  if (component === undefined) return undefined;
  return { ...componentOutput(component), eTag: definitionTag(component) };
}

async function findInstance(
  runtime: Runtime,
  wanted: { domain: string; workflow: string; instance: string; version: string | undefined },
): Promise<Found> {
  const { domain, workflow: flow, instance: reference, version } = wanted;
  const instance = await runtime.instances.find({ domain, flow, reference });
  if (instance === undefined) {
    await runtime.refuseUnknownWorkflow(domain, flow);
    return undefined;
  }
  const isPinned = version !== undefined && version !== "" && version.toLowerCase() !== "latest";
  const shown = isPinned ? await runtime.instances.atVersion(instance, version) : instance;
  return shown === undefined ? undefined : { ...fullOutput(shown), eTag: instanceEtag(shown) };
}

const fullOutput = (instance: Instance): InstanceOutput => {
  const text = instance.data === undefined ? undefined : stringifyJson(instance.data);
  const output = instanceOutput(instance, text);
  output.metadata.incident.totalCount = instance.incidentCount;
  return { ...output, extensionsText: "{}" };
};

/** The version's own tag, and what further versions change on the record. */
const definitionTag = ({ id, entityEtag, modifiedAt, tags, ...component }: Component): string =>
  etagOf(
    id,
    entityEtag,
    modifiedAt.getTime(),
    component.modifiedBy,
    component.modifiedByBehalfOf,
    ...tags,
  );

/** A record of a system flow rests in its only state for ever. */
export const componentOutput = (component: Component): InstanceOutput => ({
  id: component.id,
  key: component.key,
  flow: component.kind,
  domain: component.domain,
  flowVersion: component.flowVersion,
  entityEtag: `"${component.entityEtag}"`,
  tags: component.tags,
  metadata: {
    currentState: "active",
    effectiveState: "active",
    status: "A",
    effectiveStateType: "intermediate",
    effectiveStateSubType: "none",
    currentStateType: "intermediate",
    currentStateSubType: "none",
    createdAt: component.createdAt,
    modifiedAt: component.modifiedAt,
    createdBy: component.createdBy,
    createdByBehalfOf: component.createdByBehalfOf,
    modifiedBy: component.modifiedBy,
    modifiedByBehalfOf: component.modifiedByBehalfOf,
    incident: { hasActiveIncident: false },
  },
  attributesText: component.attributesText,
  extensionsText: "{}",
});
