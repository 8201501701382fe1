import Type from "typebox";
import type { Component } from "../engine/component.ts";
import { isComponentKind } from "../engine/component-kind.ts";
import { problems } from "../engine/problems.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { HttpServer } from "./create-server.ts";
import { etagMatches, etagOf } from "./etag.ts";
import { InstanceListQuery, listJson, readListQuery } from "./instance-list.ts";
import { instanceJson, type InstanceOutput } from "./instance-output.ts";
import type { Query } from "./query-string.ts";

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
  app.get(
    instancesPath,
    {
      config: { checksQueryItself: true },
      schema: {
        summary: "List instances",
        tags: ["instances"],
        params: WorkflowPath,
        querystring: InstanceListQuery,
      },
    },
    async (request, reply) => {
      const { domain, workflow } = request.params;
      const query = readListQuery(request.query as Query);
      const list = await runtime().listInstances({ domain, workflow }, query);
      const wanted = { domain, workflow, url: request.originalUrl };
      return reply.type("application/json; charset=utf-8").send(listJson(wanted, query, list));
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
      },
    },
    async (request, reply) => {
      const { domain, workflow, instance } = request.params;
      const { version } = request.query;
      if (!isComponentKind(workflow)) {
        throw problems.componentNotFound({ domain, flow: "sys-flows", key: workflow });
      }
      const component = await runtime().findDefinition({
        domain,
        kind: workflow,
        instance,
        version,
      });
      if (component === undefined) {
        throw problems.instanceNotFound({ domain, workflow, instance, version });
      }
      const output = componentOutput(component);
      const eTag = etagOf(component.id, component.entityEtag, component.modifiedAt.getTime());
      reply.header("etag", eTag).header("x-entity-etag", output.entityEtag);
      if (etagMatches(request.headers["if-none-match"], eTag)) return reply.status(304).send();
      return reply.type("application/json; charset=utf-8").send(instanceJson({ ...output, eTag }));
    },
  );
}

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
