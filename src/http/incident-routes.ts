import type { Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import { findInstance, type InstancePlace } from "../functions/instance-call.ts";
import { loadLevels, refuseQuery } from "../functions/levels.ts";
import type { Viewer } from "../runtime/check-roles.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Incident } from "../runtime/instances.ts";
import type { HttpServer } from "./create-server.ts";
import { readInstanceRequest } from "./instance-request.ts";
import { Type } from "./schema.ts";
import { viewerOf } from "./viewer.ts";

const InstancePath = Type.Object({
  domain: Type.String(),
  workflow: Type.String(),
  instance: Type.String({ description: "id or business key" }),
});

const IncidentDetail = Type.Object(
  {
    id: Type.String(),
    createdAt: Type.String(),
    state: Type.String(),
    transition: Type.String(),
    task: Type.Optional(Type.String()),
    message: Type.String(),
    errorCode: Type.Optional(Type.String()),
    errorLayer: Type.Optional(Type.String()),
    statusCode: Type.Optional(Type.Integer()),
    boundaryAction: Type.Optional(Type.String()),
    boundaryLevel: Type.Optional(Type.String()),
    traceId: Type.Optional(Type.String()),
    isResolved: Type.Boolean(),
    resolvedAt: Type.Optional(Type.String()),
    retryCount: Type.Integer(),
  },
  { $id: "IncidentDetail" },
);

const IncidentPage = Type.Object({
  hasActiveIncident: Type.Boolean(),
  items: Type.Array(Type.Ref("IncidentDetail")),
  page: Type.Integer(),
  pageSize: Type.Integer(),
  hasNext: Type.Boolean(),
});

const RetryInstanceOutput = Type.Object(
  {
    id: Type.String(),
    status: Type.String({ description: "A, B, C or F" }),
    retriedTransitionId: Type.String(),
  },
  { $id: "RetryInstanceOutput" },
);

const instancePath = "/api/v1/:domain/workflows/:workflow/instances/:instance";
const tags = ["incidents"];
const largestPage = 100;

/** What went wrong with an instance, and going on after it. */
export function addIncidentRoutes(app: HttpServer, runtime: () => Runtime): void {
  app.addSchema(IncidentDetail);
  app.addSchema(RetryInstanceOutput);

  /** Behind the same gate as the state function. */
  const findReadable = async (place: InstancePlace, viewer: Viewer): Promise<Instance> => {
    const ports = runtime().functionPorts;
    const instance = await findInstance(ports, place);
    await refuseQuery(ports, await loadLevels(ports, instance), viewer);
    return instance;
  };

  app.get(
    `${instancePath}/incidents`,
    {
      schema: {
        summary: "Incidents of an instance, newest first",
        tags,
        params: InstancePath,
        querystring: Type.Object({
          page: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
          pageSize: Type.Optional(
            Type.Integer({ minimum: 1, default: 20, description: "at most 100" }),
          ),
        }),
        response: { 200: IncidentPage },
      },
    },
    async (request) => {
      const { instances } = runtime();
      const instance = await findReadable(request.params, viewerOf(request));
      const { page = 1 } = request.query;
      // Larger pages than the largest are the largest, as clients of the public system expect.
      const pageSize = Math.min(request.query.pageSize ?? 20, largestPage);
      // One more than a page tells whether there is another.
      const found = await instances.incidents.list(
        instance.id,
        (page - 1) * pageSize,
        pageSize + 1,
      );
      const { hasActiveIncident } = instance;
      const items = found.slice(0, pageSize).map(toDetail);
      return { hasActiveIncident, items, page, pageSize, hasNext: found.length > pageSize };
    },
  );

  app.get(
    `${instancePath}/incidents/active`,
    {
      schema: {
        summary: "The newest incident that is not resolved",
        tags,
        params: InstancePath,
        response: { 200: Type.Ref("IncidentDetail") },
      },
    },
    async (request) => {
      const { instances } = runtime();
      const instance = await findReadable(request.params, viewerOf(request));
      const incident = await instances.incidents.active(instance.id);
      if (incident === undefined) throw problems.noOpenIncident({ instance: instance.id });
      return toDetail(incident);
    },
  );

  app.post(
    `${instancePath}/retry`,
    {
      config: { checksBodyItself: true, formBody: "envelope" },
      schema: {
        summary: "Go on with a faulted instance from where it failed",
        tags,
        params: InstancePath,
        querystring: Type.Object({ sync: Type.Optional(Type.Boolean({ default: false })) }),
        body: Type.Ref("TransitionDataInput"),
        response: { 200: Type.Ref("RetryInstanceOutput") },
      },
    },
    async (request) => {
      const { domain, workflow, instance } = request.params;
      const { sync = false } = request.query;
      // Always the envelope, whatever the body looks like.
      const asked = readInstanceRequest(request, "transition", "standard");
      const retried = await runtime().instances.retry({
        ...asked,
        domain,
        workflow,
        instance,
        sync,
      });
      const { id, status } = retried.instance;
      return { id, status, retriedTransitionId: retried.retriedTransitionId };
    },
  );
}

const toDetail = ({ resolvedAt, createdAt, boundaryAction, ...incident }: Incident) => ({
  ...incident,
  ...(boundaryAction === undefined ? {} : { boundaryAction: capitalised(boundaryAction) }),
  createdAt: createdAt.toISOString(),
  isResolved: resolvedAt !== undefined,
  ...(resolvedAt === undefined ? {} : { resolvedAt: resolvedAt.toISOString() }),
});

const capitalised = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
