import { Type } from "./schema.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { HttpServer } from "./create-server.ts";

export interface DefinitionRoutesOptions {
  runtime: () => Runtime;
  requireFlowVersion: boolean;
  /** The component kinds' schemas by name; the publish body is documented by them. */
  schemas: Record<string, object>;
}

const PublishAnswer = Type.Object({
  key: Type.String(),
  flow: Type.String(),
  domain: Type.String(),
  version: Type.String(),
  warnings: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })),
});

const ValidateAnswer = Type.Object({
  ...PublishAnswer.properties,
  exists: Type.Boolean({ description: "the version is published: a publish would be a conflict" }),
  current: Type.Union([Type.String(), Type.Null()], {
    description: "the latest version that is published; null for none",
  }),
});

const PublishInput = Type.Object(
  {
    key: Type.String({ maxLength: 100, pattern: "^[a-zA-Z0-9-]+$" }),
    flow: Type.String({ maxLength: 100, description: "the kind: sys-flows, sys-tasks, …" }),
    domain: Type.String({ maxLength: 50, pattern: "^[a-zA-Z-]+$" }),
    version: Type.String({ maxLength: 180, description: "SemVer" }),
    flowVersion: Type.Optional(Type.String({ maxLength: 180 })),
    tags: Type.Optional(Type.Array(Type.String())),
    attributes: Type.Object({}, { additionalProperties: true }),
    data: Type.Optional(
      Type.Array(
        Type.Object({
          key: Type.String(),
          version: Type.String(),
          tags: Type.Optional(Type.Array(Type.String())),
          attributes: Type.Object({}, { additionalProperties: true }),
        }),
      ),
    ),
  },
  { $id: "PublishInput", additionalProperties: true },
);

const Completed = Type.Object(
  {
    packageName: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    domain: Type.Optional(Type.String()),
  },
  { additionalProperties: true },
);

/** Publish, and the calls that tell the runtime a package is complete. */
export function addDefinitionRoutes(app: HttpServer, options: DefinitionRoutesOptions): void {
  const { runtime, requireFlowVersion } = options;
  app.addSchema(PublishInput);

  app.post(
    "/api/v1/definitions/publish",
    {
      // The checker reports all mistakes by path; the schema here is documentation.
      config: { checksBodyItself: true },
      schema: {
        summary: "Publish one component",
        tags: ["definitions"],
        body: Type.Ref("PublishInput"),
        response: { 200: PublishAnswer },
      },
    },
    async (request) => {
      const { actor, behalfOf } = request.caller;
      const author = { actor, behalfOf };
      const published = await runtime().publish(request.body, { requireFlowVersion, author });
      const { domain, flow, key, version, warnings } = published;
      request.log.info({ domain, flow, key, version, warnings: warnings.length }, "Published");
      return { key, flow, domain, version, warnings: [...warnings] };
    },
  );

  app.post(
    "/api/v1/definitions/validate",
    {
      config: { checksBodyItself: true },
      schema: {
        summary: "What publishing a component would say; nothing is stored",
        tags: ["definitions"],
        body: Type.Ref("PublishInput"),
        response: { 200: ValidateAnswer },
      },
    },
    async (request) => {
      const checked = await runtime().validate(request.body, { requireFlowVersion });
      const { domain, flow, key, version, exists, current = null, warnings } = checked;
      return { key, flow, domain, version, exists, current, warnings: [...warnings] };
    },
  );

  app.get(
    "/api/v1/definitions/re-initialize",
    {
      schema: {
        summary: "Read all definitions anew",
        tags: ["definitions"],
        querystring: Type.Object({ fullLoad: Type.Optional(Type.Boolean()) }),
      },
    },
    async (_request, reply) => {
      await runtime().reinitialize();
      return reply.status(200).send();
    },
  );

  app.post(
    "/api/v1/definitions/publish/completed",
    {
      schema: {
        summary: "Tell that a package has been published whole",
        tags: ["definitions"],
        body: Type.Optional(Completed),
      },
    },
    async (request) => {
      const { domain } = (request.body ?? {}) as { domain?: string };
      const served = runtime().domain;
      if (served !== "" && domain !== undefined && domain !== served) {
        return failed(`this runtime serves the domain '${served}', not '${domain}'`);
      }
      await runtime().reinitialize();
      return { success: true, hooks: [{ name: "definition-cache", outcome: "reloaded" }] };
    },
  );

  app.get(
    "/schemas/:kind",
    {
      schema: {
        summary: "JSON Schema of a component kind, for editors",
        tags: ["definitions"],
        params: Type.Object({ kind: Type.String({ description: "sys-flows.json, …" }) }),
      },
    },
    async (request, reply) => {
      const name = request.params.kind.replace(/\.json$/, "");
      const schema = Object.hasOwn(options.schemas, name) ? options.schemas[name] : undefined;
      if (schema === undefined) return reply.callNotFound();
      return reply
        .type("application/schema+json; charset=utf-8")
        .header("cache-control", "public, max-age=300")
        .send(JSON.stringify(schema));
    },
  );
}

const failed = (message: string) => ({
  success: false,
  hooks: [{ name: "definition-cache", outcome: "failed", message }],
});
