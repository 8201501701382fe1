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
  for (const { method, url, schema } of app.routeList.filter(isDocumented)) {
    scratch.route({ method, url, schema: withProblem(schema), handler: () => undefined });
  }
  await scratch.ready();
  const document = scratch.swagger() as unknown as ApiDocument;
  await scratch.close();
  return document;
}

/** HEAD goes with GET, preflights with everything. */
export const isDocumented = ({ method, url, schema }: Route): boolean =>
  method !== "HEAD" && method !== "OPTIONS" && !url.includes("*") && !isHidden(schema);

const isHidden = (schema: FastifySchema | undefined) => schema?.hide === true;

/** Every route may refuse, and all refusals look alike. */
function withProblem(schema: FastifySchema = {}): FastifySchema {
  const response = schema.response ?? { 200: { description: "Success" } };
  const refusal = {
    description: "Refused; `code` says why",
    content: { "application/problem+json": { schema: { $ref: "Problem#" } } },
  };
  return { ...schema, response: { ...response, default: refusal } };
}
