/**
 * Checks path, query, header and body against the route's schema; the same schemas make the API
 * document. A schema is compiled when its route is first called: compiling all of them would cost
 * the start more than most processes ever use.
 *
 * Path, query and headers arrive as text, so their values are converted and defaults filled in.
 * Bodies are taken literally. A route whose body has rules and codes of its own (publish, start)
 * says `config: { checksBodyItself: true }`: its body schema is documentation, the rest is checked.
 * The same goes for a query with a language of its own (the list) and `checksQueryItself`.
 */
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { FastifyInstance, FastifySchema, FastifySchemaCompiler } from "fastify";
import { toPlain, type JsonValue } from "../engine/exact-json.ts";
import type { ErrorsByPath } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";

type Schema = Record<string, unknown>;
type Compiler = FastifySchemaCompiler<FastifySchema>;

const partNames: Record<string, string> = {
  params: "path",
  querystring: "query",
  headers: "headers",
  body: "body",
};

declare module "fastify" {
  interface FastifyContextConfig {
    /** The handler checks the body; its schema only documents it. */
    checksBodyItself?: boolean;
    /** The handler checks the query, whose names it gets in lower case; its schema only documents it. */
    checksQueryItself?: boolean;
  }
}

export function validateRequests(app: FastifyInstance): void {
  const compile = createCompiler(app);
  app.setValidatorCompiler(compile);
  app.addHook("onRoute", (route) => {
    const own = new Set<string | undefined>();
    if (route.config?.checksBodyItself === true) own.add("body");
    if (route.config?.checksQueryItself === true) own.add("querystring");
    if (own.size === 0) return;
    route.validatorCompiler = (part) => (own.has(part.httpPart) ? () => true : compile(part));
  });
}

function createCompiler(app: FastifyInstance): Compiler {
  const textual = lazily(() => newAjv(app, { coerceTypes: "array", useDefaults: true }));
  const literal = lazily(() => newAjv(app, {}));
  return ({ schema: given, httpPart }) => {
    const schema = given as Schema;
    const part = partNames[httpPart ?? "body"] ?? "request";
    const isOptional = mayBeAbsent(schema);
    const isQuery = httpPart === "querystring";
    const rename = isQuery ? renameTo(schema) : undefined;
    const booleans = isQuery ? booleansOf(schema) : [];
    const validator = lazily(() => (httpPart === "body" ? literal() : textual()).compile(schema));
    return (data: unknown) => {
      // Fastify shows an absent body as null.
      if (data === null && isOptional) return true;
      rename?.(data as Record<string, unknown>);
      for (const name of booleans) foldBoolean(data as Record<string, unknown>, name);
      const validate = validator();
      if (validate(httpPart === "body" ? toPlain(data as JsonValue) : data)) return true;
      const errors = errorsByPath(validate.errors ?? []);
      const count = Object.values(errors).flat().length;
      return { error: problems.requestInvalid({ part, count }, { errors }) };
    };
  };
}

/** No body counts as an empty one: fine when nothing is required, or the schema says so itself. */
function mayBeAbsent(schema: Schema): boolean {
  if ("~optional" in schema) return true;
  return schema["type"] === "object" && ((schema["required"] as unknown[]) ?? []).length === 0;
}

function newAjv(app: FastifyInstance, options: object): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, ...options });
  addFormats.default(ajv);
  ajv.addVocabulary(["example"]);
  for (const schema of Object.values(app.getSchemas())) ajv.addSchema(schema as Schema);
  return ajv;
}

/** The query parser folded all names to lower case; the schema knows how they are really spelt. */
function renameTo(schema: Schema): ((query: Record<string, unknown>) => void) | undefined {
  const names = Object.keys((schema["properties"] as Schema | undefined) ?? {});
  const spelt = names.filter((name) => name !== name.toLowerCase());
  if (spelt.length === 0) return undefined;
  return (query) => {
    for (const name of spelt) {
      const folded = name.toLowerCase();
      if (query[folded] === undefined) continue;
      query[name] = query[folded];
      delete query[folded];
    }
  };
}

const booleansOf = (schema: Schema): string[] =>
  Object.entries((schema["properties"] as Record<string, Schema> | undefined) ?? {})
    .filter(([, property]) => property["type"] === "boolean")
    .map(([name]) => name);

/** Some clients write a boolean as their language does: `True`. */
function foldBoolean(query: Record<string, unknown>, name: string): void {
  const value = query[name];
  if (typeof value === "string") query[name] = value.toLowerCase();
}

export function errorsByPath(errors: readonly ErrorObject[]): ErrorsByPath {
  const byPath = new Map<string, string[]>();
  for (const error of errors) {
    const path = pathOf(error);
    const messages = byPath.get(path) ?? [];
    messages.push(messageOf(error));
    byPath.set(path, messages);
  }
  return Object.fromEntries(byPath);
}

/** `items.0.name`; what belongs to no member is filed under `general`. */
function pathOf({ instancePath, params }: ErrorObject): string {
  const segments = instancePath.split("/").slice(1).map(unescape);
  const member: unknown = params["missingProperty"] ?? params["additionalProperty"];
  if (typeof member === "string") segments.push(member);
  return segments.length === 0 ? "general" : segments.join(".");
}

const unescape = (segment: string) => segment.replaceAll("~1", "/").replaceAll("~0", "~");

function messageOf({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case "required":
      return "is required";
    case "additionalProperties":
      return "is not known here";
    case "enum":
      return `must be one of ${(params["allowedValues"] as unknown[]).join(", ")}`;
    default:
      return message ?? "is not valid";
  }
}

function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
