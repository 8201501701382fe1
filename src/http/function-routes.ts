/** Functions: those that every instance has, and those that somebody published. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { functionVerb, type FunctionVerb } from "../engine/definition/enumerations.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import { isHumanTask } from "../functions/built-in-names.ts";
import { builtInOf } from "../functions/built-ins.ts";
import { callFunction } from "../functions/call-function.ts";
import { callHumanTask } from "../functions/call-human-task.ts";
import type { FunctionAnswer } from "../functions/function-answer.ts";
import { functionInfo, functionSchema, functionView } from "../functions/function-contract.ts";
import type { FunctionPlace } from "../functions/function-gate.ts";
import { findInstance, type InstancePlace } from "../functions/instance-call.ts";
import { levelOf } from "../functions/levels.ts";
import { listFunctions } from "../functions/list-functions.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { askerOf } from "./asker.ts";
import type { HttpServer } from "./create-server.ts";
import { etagMatches } from "./etag.ts";
import { Type } from "./schema.ts";

const DomainPath = Type.Object({ domain: Type.String() });
const DomainFunctionPath = Type.Object({ domain: Type.String(), function: Type.String() });
const InstancePath = Type.Object({
  domain: Type.String(),
  workflow: Type.String(),
  instance: Type.String({ description: "id or business key" }),
});
const InstanceFunctionPath = Type.Object({
  domain: Type.String(),
  workflow: Type.String(),
  instance: Type.String({ description: "id or business key" }),
  function: Type.String(),
});

const text = Type.Optional(Type.String());
const list = Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]));
const DomainQuery = Type.Object(
  { version: Type.Optional(Type.String({ description: "default latest" })) },
  { additionalProperties: true },
);
const InstanceQuery = Type.Object(
  {
    Version: text,
    Extensions: list,
    TransitionKey: text,
    Role: text,
    FunctionKey: text,
    QueryRoles: Type.Optional(Type.Boolean()),
    Ack: Type.Optional(Type.Boolean()),
    Platform: text,
  },
  { additionalProperties: true, description: "names match in any letter case" },
);
const DiscoveryQuery = Type.Object({ version: text });
const TargetQuery = Type.Object({
  target: Type.Optional(Type.String({ description: "input (default) or output" })),
  version: text,
});
const ConditionalHeaders = Type.Object({ "if-none-match": text });

const functionsPath = "/api/v1/:domain/functions";
const instancePath = "/api/v1/:domain/workflows/:workflow/instances/:instance";
const tags = ["functions"];
/** The body is passed on as it is, and a query has names of its own. */
const config = { checksBodyItself: true, checksQueryItself: true, formBody: "data" } as const;
const reads = { checksQueryItself: true } as const;

type FunctionParams = InstancePlace & { function: string };

export function addFunctionRoutes(app: HttpServer, runtime: () => Runtime): void {
  const onInstance = async (params: InstancePlace): Promise<FunctionPlace> => {
    const ports = runtime().functionPorts;
    const instance = await findInstance(ports, params);
    const { workflow } = await levelOf(ports, instance);
    return { domain: params.domain, instance, workflow };
  };

  app.get(
    functionsPath,
    { schema: { summary: "Functions of a domain, every version", tags, params: DomainPath } },
    async (request, reply) =>
      send(reply, await listFunctions(runtime().functionPorts, request.params.domain)),
  );

  for (const method of functionVerb.words) {
    const body = method === "GET" ? {} : { body: Type.Unknown() };
    app.route({
      method,
      url: `${functionsPath}/:function`,
      config,
      schema: {
        summary: "Call a function of a domain",
        tags,
        params: DomainFunctionPath,
        querystring: DomainQuery,
        ...body,
      },
      handler: async (request, reply) => {
        const ports = runtime().functionPorts;
        const { domain, function: key } = request.params;
        const asker = askerOf(request);
        if (isHumanTask(key)) return send(reply, await callHumanTask(ports, domain, asker));
        const place = onDomain({ domain });
        return send(reply, await callFunction(ports, { key, place, asker, ...callOf(request) }));
      },
    });
    app.route({
      method,
      url: `${instancePath}/functions/:function`,
      config,
      schema: {
        summary: "Call a function of an instance",
        tags,
        params: InstanceFunctionPath,
        querystring: InstanceQuery,
        ...(method === "GET" ? { headers: ConditionalHeaders } : {}),
        ...body,
      },
      handler: async (request, reply) => {
        const ports = runtime().functionPorts;
        const { function: key } = request.params;
        const builtIn = builtInOf(key);
        const asker = askerOf(request);
        const called = callOf(request);
        if (builtIn === undefined) {
          const place = await onInstance(request.params);
          return send(reply, await callFunction(ports, { key, place, asker, ...called }));
        }
        const polled = await findInstance(ports, request.params);
        return send(reply, await builtIn(ports, { polled, asker, isKnown: called.isKnown }));
      },
    });
  }

  app.get(
    `${instancePath}/data`,
    {
      config: reads,
      schema: { hide: true, params: InstancePath, headers: ConditionalHeaders },
    },
    async (request, reply) => {
      const ports = runtime().functionPorts;
      const polled = await findInstance(ports, request.params);
      const { isKnown } = callOf(request);
      const call = { polled, asker: askerOf(request), isKnown };
      return send(reply, await builtInOf("data")!(ports, call));
    },
  );

  const discoveries = [
    { slot: "info", summary: "What a function is and takes", tell: functionInfo },
    { slot: "view", summary: "The view before or after a function", tell: functionView },
    { slot: "schema", summary: "What a function takes or answers", tell: functionSchema },
  ] as const;
  for (const { slot, summary, tell } of discoveries) {
    const querystring = slot === "info" ? DiscoveryQuery : TargetQuery;
    app.get(
      `${functionsPath}/:function/${slot}`,
      { config: reads, schema: { summary, tags, params: DomainFunctionPath, querystring } },
      async (request, reply) => {
        const { function: key } = request.params;
        const discovery = { key, place: onDomain(request.params), asker: askerOf(request) };
        return send(reply, await tell(runtime().functionPorts, discovery));
      },
    );
    app.get(
      `${instancePath}/functions/:function/${slot}`,
      { config: reads, schema: { summary, tags, params: InstanceFunctionPath, querystring } },
      async (request, reply) => {
        const { function: key } = request.params as FunctionParams;
        const place = await onInstance(request.params);
        const discovery = { key, place, asker: askerOf(request) };
        return send(reply, await tell(runtime().functionPorts, discovery));
      },
    );
  }
}

const onDomain = ({ domain }: { domain: string }): FunctionPlace => ({
  domain,
  instance: undefined,
  workflow: undefined,
});

/** HEAD is a GET whose body is not sent. */
function callOf(request: FastifyRequest) {
  const verb = functionVerb.read(request.method) ?? "GET";
  const known = request.headers["if-none-match"];
  const body = request.rawBody === undefined ? undefined : (request.body as JsonValue);
  return {
    verb: verb satisfies FunctionVerb,
    body,
    isKnown: (eTag: string) => verb === "GET" && etagMatches(known, eTag),
  };
}

/** As bytes: of a text Fastify would complete the content type, and it is the author's to say. */
function send(reply: FastifyReply, answer: FunctionAnswer): FastifyReply {
  const { statusCode, body, contentType, headers } = answer;
  reply.status(statusCode).headers(headers);
  if (body === undefined) return reply.send();
  return reply.header("content-type", contentType).send(Buffer.from(body));
}
