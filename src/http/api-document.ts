/**
 * The OpenAPI document, made from the schemas the routes validate with. It is made on a server of
 * its own that answers nothing, when somebody first asks: the start never waits for it.
 */
import swagger from "@fastify/swagger";
import fastify, { type FastifySchema } from "fastify";
import type { HttpServer } from "./create-server.ts";
import { ProblemOutput } from "./problem-schema.ts";
import type { Route } from "./route-list.ts";

export interface ApiInfo {
  title: string;
  description: string;
  version: string;
}

export interface ApiDocument {
  openapi: string;
  info: ApiInfo;
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, unknown> };
}

export async function makeApiDocument(app: HttpServer, info: ApiInfo): Promise<ApiDocument> {
  const scratch = fastify();
  scratch.setValidatorCompiler(() => () => true).setSerializerCompiler(() => JSON.stringify);
  await scratch.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: { ...info, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
      servers: [{ url: "/" }],
    },
    // Components keep the names of their schemas; the default would number them.
    refResolver: { buildLocalReference: (schema) => schema.$id as string },
  });
  for (const schema of [ProblemOutput, ...Object.values(app.getSchemas())]) {
    scratch.addSchema(schema);
  }
  const routes = app.routeList.filter(isDocumented);
  for (const route of routes) {
    const { method, url } = route;
    scratch.route({ method, url, schema: withProblem(withForms(route)), handler: () => undefined });
  }
  await scratch.ready();
  const document = scratch.swagger() as unknown as ApiDocument;
  for (const route of routes.filter(takesForms)) makeBodyOptional(document, route);
  await scratch.close();
  return document;
}

/** HEAD goes with GET, preflights with everything. */
export const isDocumented = ({ method, url, schema }: Route): boolean =>
  method !== "HEAD" && method !== "OPTIONS" && !url.includes("*") && !isHidden(schema);

const isHidden = (schema: FastifySchema | undefined) => schema?.hide === true;

const takesForms = ({ config }: Route): boolean => config?.formBody !== undefined;

const withForms = (route: Route): FastifySchema | undefined =>
  takesForms(route)
    ? { ...route.schema, consumes: ["application/json", "application/x-www-form-urlencoded"] }
    : route.schema;

/** The generator requires every body; where forms are taken, no body is an empty one. */
function makeBodyOptional({ paths }: ApiDocument, { method, url }: Route): void {
  const operation = paths[url.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
  const body = (operation as { requestBody?: { required: boolean } } | undefined)?.requestBody;
  if (body !== undefined) body.required = false;
}

/** Every route may refuse, and all refusals look alike. */
function withProblem(schema: FastifySchema = {}): FastifySchema {
  const response = schema.response ?? { 200: { description: "Success" } };
  const refusal = {
    description: "Refused; `code` says why",
    content: { "application/problem+json": { schema: { $ref: "Problem#" } } },
  };
  return { ...schema, response: { ...response, default: refusal } };
}
