import type { FastifyReply } from "fastify";
import { Readable } from "node:stream";
import { Type } from "./schema.ts";
import { isComponentKind } from "../engine/component-kind.ts";
import { problems } from "../engine/problems.ts";
import { isUuid } from "../engine/uuid.ts";
import type { Outcome, StoredRecord } from "../runtime/instances.ts";
import { outcomeJson } from "../runtime/outcome-output.ts";
import type { OutputResponse } from "../runtime/run-output.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Sight } from "../runtime/sight.ts";
import { askerOf } from "./asker.ts";
import type { HttpServer } from "./create-server.ts";
import { extensionsOf } from "./extensions-of.ts";
import { readInstanceRequest } from "./instance-request.ts";
import { versionIn } from "./query-string.ts";
import {
  historyJson,
  historyParts,
  TransitionHistory,
  workflowHeader,
} from "./transition-output.ts";
import { viewerOf } from "./viewer.ts";

const WorkflowPath = Type.Object({ domain: Type.String(), workflow: Type.String() });
const InstancePath = Type.Object({
  domain: Type.String(),
  workflow: Type.String(),
  instance: Type.String({ description: "id or business key" }),
});
const TransitionPath = Type.Object({
  domain: Type.String(),
  workflow: Type.String(),
  instance: Type.String({ description: "id or business key" }),
  transitionKey: Type.String(),
});

const Extensions = Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]));
const StartQuery = Type.Object({
  version: Type.Optional(Type.String({ description: "workflow version; default latest" })),
  sync: Type.Optional(Type.Boolean({ default: false })),
  extensions: Extensions,
});
const TransitionQuery = Type.Object({
  sync: Type.Optional(Type.Boolean({ default: false })),
  extensions: Extensions,
});

const AckQuery = Type.Object({
  role: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: "of a caller who sends no role header",
    }),
  ),
});

const envelope = {
  tags: Type.Optional(Type.Array(Type.String())),
  stage: Type.Optional(Type.Union([Type.String({ maxLength: 120 }), Type.Null()])),
  attributes: Type.Optional(Type.Unknown()),
};
const CreateInstanceDto = Type.Object(
  { key: Type.Optional(Type.String({ maxLength: 100 })), ...envelope },
  { $id: "CreateInstanceDto", additionalProperties: true },
);
const TransitionDataInput = Type.Object(
  {
    key: Type.Optional(Type.String({ maxLength: 100, description: "idempotency key" })),
    ...envelope,
  },
  { $id: "TransitionDataInput", additionalProperties: true },
);
const InstanceOutcome = Type.Object(
  {
    id: Type.String(),
    key: Type.Optional(Type.String()),
    status: Type.String({ description: "A, B, C, F or P" }),
    attributes: Type.Optional(Type.Unknown()),
    eTag: Type.Optional(Type.String()),
    entityEtag: Type.Optional(Type.String()),
    extensions: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { $id: "InstanceOutcome" },
);

const instancesPath = "/api/v1/:domain/workflows/:workflow/instances";
const tags = ["instances"];
const response = { 200: Type.Ref("InstanceOutcome"), 202: Type.Ref("InstanceOutcome") };
const config = { checksBodyItself: true, formBody: "envelope" } as const;
const bodyHint =
  "The body is the envelope when it has `attributes`, or nothing but `key`, `tags` and `stage`; any other is the data themselves. The header `x-service-payload-mode` (`raw` or `standard`) decides where that is not what is meant.";

/** Starting instances, moving them, and the history of both. */
export function addTransitionRoutes(app: HttpServer, runtime: () => Runtime): void {
  app.addSchema(CreateInstanceDto);
  app.addSchema(TransitionDataInput);
  app.addSchema(InstanceOutcome);

  app.post(
    `${instancesPath}/start`,
    {
      config,
      schema: {
        summary: "Start an instance",
        description: bodyHint,
        tags,
        params: WorkflowPath,
        querystring: StartQuery,
        body: Type.Ref("CreateInstanceDto"),
        response,
      },
    },
    async (request, reply) => {
      const { domain, workflow } = request.params;
      const { sync = false } = request.query;
      const version = versionIn(request.query.version);
      refuseSystemFlow(domain, workflow);
      const asked = readInstanceRequest(request, "start");
      const outcome = await runtime().instances.start({
        id: asked.id,
        domain,
        workflow,
        version,
        sync,
        key: asked.key,
        payload: asked.payload,
        sent: asked.sent,
        author: asked.author,
        roles: asked.roles,
        headers: asked.headers,
        traceId: asked.traceId,
        triggerDepth: asked.triggerDepth,
        signal: asked.signal,
      });
      return sendOutcome(reply, runtime(), outcome);
    },
  );

  app.post(
    "/api/v1/:domain/workflows/:workflow/sub/instances/start",
    {
      config,
      schema: {
        summary: "Start an instance for another runtime",
        description:
          "Always the envelope and the standard answer; an id or a key in use is a conflict.",
        tags,
        params: WorkflowPath,
        querystring: StartQuery,
        body: Type.Ref("CreateInstanceDto"),
        response: { 200: Type.Ref("InstanceOutcome") },
      },
    },
    async (request, reply) => {
      const { domain, workflow } = request.params;
      const { sync = false } = request.query;
      const version = versionIn(request.query.version);
      refuseSystemFlow(domain, workflow);
      const asked = readInstanceRequest(request, "start", "standard");
      const id = idIn(request.body) ?? asked.id;
      const wanted = { id, domain, workflow, version, sync, isStrict: true };
      const { instance } = await runtime().instances.start({ ...asked, ...wanted });
      reply.header("x-workflow", workflowHeader(instance));
      const { key, status } = instance;
      return { id: instance.id, ...(key === undefined ? {} : { key }), status };
    },
  );

  app.patch(
    `${instancesPath}/:instance/transitions/:transitionKey`,
    {
      config,
      schema: {
        summary: "Send a transition to an instance",
        description: bodyHint,
        tags,
        params: TransitionPath,
        querystring: TransitionQuery,
        body: Type.Ref("TransitionDataInput"),
        response,
      },
    },
    async (request, reply) => {
      const { domain, workflow, instance, transitionKey } = request.params;
      const { sync = false } = request.query;
      refuseSystemFlow(domain, workflow);
      const asked = readInstanceRequest(request, "transition");
      // Member by member, as in `begin-run.ts`: everything that follows looks at it.
      const outcome = await runtime().instances.transition({
        domain,
        workflow,
        instance,
        transitionKey,
        sync,
        idempotencyKey: asked.key,
        payload: asked.payload,
        sent: asked.sent,
        author: asked.author,
        roles: asked.roles,
        headers: asked.headers,
        traceId: asked.traceId,
        triggerDepth: asked.triggerDepth,
        receivedAt: asked.receivedAt,
        signal: asked.signal,
      });
      return sendOutcome(reply, runtime(), outcome);
    },
  );

  app.route({
    method: ["POST", "PATCH"],
    url: `${instancesPath}/:instance/longpoll/ack`,
    config: { checksBodyItself: true },
    schema: {
      summary: "The state that ended the caller's poll has been seen: go on",
      tags,
      params: InstancePath,
      querystring: AckQuery,
    },
    handler: async (request, reply) => {
      const { domain, workflow, instance: reference } = request.params;
      const { instances } = runtime();
      const instance = await instances.find({ domain, flow: workflow, reference });
      if (instance === undefined) {
        throw problems.instanceNotFoundToChange({ domain, workflow, instance: reference });
      }
      await instances.ackPoll(instance, askerOf(request));
      return reply.status(200).send();
    },
  });

  app.get(
    `${instancesPath}/:instance/transitions`,
    {
      schema: {
        summary: "History of an instance, oldest first",
        tags,
        params: InstancePath,
        response: { 200: TransitionHistory },
      },
    },
    async (request, reply) => {
      const { domain, workflow, instance: reference } = request.params;
      const { instances, refuseUnknownWorkflow } = runtime();
      const instance = await instances.find({ domain, flow: workflow, reference });
      if (instance === undefined) {
        if (!isComponentKind(workflow)) await refuseUnknownWorkflow(domain, workflow);
        throw problems.instanceNotFound({ domain, workflow, instance: reference });
      }
      const pages = instances.recordPages(instance.id);
      const { value: first = [] } = await pages.next();
      const sight = await instances.sightOf(instance, viewerOf(request));
      return sendHistory(reply, first, pages, sight);
    },
  );
}

/** At once when it is short, as most are; a long one as it is read, because it may be a great deal. */
async function sendHistory(
  reply: FastifyReply,
  first: readonly StoredRecord[],
  others: AsyncGenerator<readonly StoredRecord[]>,
  sight: Sight,
): Promise<FastifyReply> {
  const { value: second, done } = await others.next();
  if (done === true) return sendJson(reply, historyJson(first, sight));
  const parts = historyParts(first, second, others, sight);
  return reply.type("application/json; charset=utf-8").send(Readable.from(parts));
}

function idIn(body: unknown): string | undefined {
  const id = (body as { id?: unknown } | undefined | null)?.id;
  if (id === undefined || id === null) return undefined;
  if (typeof id === "string" && isUuid(id)) return id.toLowerCase();
  const errors = { id: ["'id' must be a UUID."] };
  throw problems.requestInvalid({ part: "body", count: 1 }, { errors });
}

/** Definitions are published, never started. */
function refuseSystemFlow(domain: string, workflow: string): void {
  if (!isComponentKind(workflow)) return;
  throw problems.systemFlowNotStartable({ domain, workflow });
}

async function sendOutcome(
  reply: FastifyReply,
  runtime: Runtime,
  outcome: Outcome,
): Promise<FastifyReply> {
  const { request } = reply;
  reply.header("x-workflow", workflowHeader(outcome.instance));
  if (outcome.output !== undefined) return sendOutput(reply, outcome.output);
  // The work is done and stays done: an extension that fails is left out, not held against it.
  const leftOut = (err: unknown) => request.log.warn({ err }, "ExtensionFailed");
  const extensions = outcome.accepted
    ? "{}"
    : await extensionsOf(runtime, request, outcome.instance, leftOut);
  const { sightOf } = runtime.instances;
  const json = await outcomeJson(outcome, sightOf, viewerOf(request), extensions);
  return sendJson(reply.status(outcome.accepted ? 202 : 200), json);
}

const sendJson = (reply: FastifyReply, json: string) =>
  reply.type("application/json; charset=utf-8").send(json);

/** As bytes: of a text Fastify would complete the content type, and it is the script's to say. */
function sendOutput(reply: FastifyReply, output: OutputResponse): FastifyReply {
  reply.status(output.statusCode).headers(output.headers);
  if (output.body === undefined) return reply.send();
  return reply.header("content-type", output.contentType).send(Buffer.from(output.body));
}
