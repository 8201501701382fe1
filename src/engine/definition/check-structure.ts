/**
 * The structural half of a check: the JSON Schemas in `schemas/`, with ajv's errors turned into
 * sentences for people, one per mistake. What a schema cannot say (existence, uniqueness, one thing
 * depending on another) is in the `check-*` files beside this one.
 *
 * A union in our schemas is always a leaf (an enumeration) and carries `x-must`, the sentence that
 * stands for the errors of all its branches.
 */
import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { gatherErrors, leaveWithErrors } from "../json-schema/bounded-errors.ts";
import { at, type Report } from "./findings.ts";
import { asObject, asText, enumerate, type JsonObject, show } from "./json.ts";

/** Checks the value with one schema and reports its mistakes under `path`. */
export type StructureCheck = (report: Report, path: string, value: unknown) => void;

/**
 * The answer finds the check for `sys-flows.json#/$defs/attributes`. Each is compiled when it is
 * first used, once: some 100 ms for a workflow, well below a millisecond for every check after.
 */
export function createStructureChecks(
  schemas: Readonly<Record<string, object>>,
): (name: string) => StructureCheck {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: true,
    // Members are typed in the schema that is referred to, and unions are how null is allowed.
    strictTypes: false,
    // A test holds our schemas against the meta-schema; these three halve the time to compile.
    meta: false,
    inlineRefs: false,
    code: { optimize: false, process: leaveWithErrors },
  });
  ajv.addVocabulary(["x-must"]);
  for (const schema of Object.values(schemas)) ajv.addSchema(schema, undefined, undefined, false);
  return (name) => {
    let compiled: ValidateFunction | undefined;
    return (report, path, value) => {
      const validate = (compiled ??= compile(ajv, name));
      reportErrors(report, path, value, gatherErrors(validate, value).errors);
    };
  };
}

function compile(ajv: Ajv2020, name: string): ValidateFunction {
  const validate = ajv.getSchema(`/schemas/${name}`);
  if (validate === undefined) throw new Error(`no schema '${name}' was handed in`);
  return validate;
}

function reportErrors(
  report: Report,
  path: string,
  value: unknown,
  errors: readonly ErrorObject[],
): void {
  const own = errors.filter((error) => !isEcho(error));
  const wrongType = new Set(own.filter((e) => e.keyword === "type").map((e) => e.instancePath));
  for (const error of own) {
    // A value of the wrong type breaks every other rule as well; one sentence is enough.
    if (error.keyword !== "type" && wrongType.has(error.instancePath)) continue;
    const steps = stepsTo(value, error.instancePath);
    if (error.keyword === "required") {
      const missing = String(error.params["missingProperty"]);
      report.mistake(at(path, ...steps, missing), sayMissing(missing, error));
    } else {
      report.mistake(at(path, ...steps), saySubject(at(path, ...steps), error));
    }
  }
}

/** The branches of a union, and "must match then": their parent or their child says it better. */
const isEcho = (error: ErrorObject): boolean =>
  error.keyword === "if" || /\/anyOf\/\d+\//.test(error.schemaPath);

/** The steps of a JSON pointer, list indexes as numbers. */
export function stepsTo(root: unknown, pointer: string): (string | number)[] {
  let reached: unknown = root;
  return pointer
    .split("/")
    .slice(1)
    .map((raw) => {
      const step = raw.replaceAll("~1", "/").replaceAll("~0", "~");
      const inList = Array.isArray(reached);
      reached = inList ? (reached as unknown[])[Number(step)] : asObject(reached)?.[step];
      return inList ? Number(step) : step;
    });
}

function sayMissing(member: string, error: ErrorObject): string {
  const properties = asObject(asObject(error.parentSchema)?.["properties"]);
  const description = asObject(properties?.[member])?.["description"];
  return typeof description === "string"
    ? `'${member}' is required and missing: ${lowerFirst(description)}`
    : `'${member}' is required and missing.`;
}

const lowerFirst = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;

function saySubject(path: string, error: ErrorObject): string {
  const subject = path.slice(path.lastIndexOf(".") + 1);
  const must = `must ${sayRule(error)}`;
  return subject === "" ? `The value ${must}.` : `'${subject}' ${must}.`;
}

function sayRule(error: ErrorObject): string {
  const schema: JsonObject = asObject(error.parentSchema) ?? {};
  const got = `got ${show(error.data)}`;
  const params: JsonObject = error.params;
  switch (error.keyword) {
    case "type":
      return `be ${sayTypes(schema["type"])}; ${got}`;
    case "enum":
      return `be one of ${enumerate((schema["enum"] as unknown[]).filter((v) => v !== null).map(show))}; ${got}`;
    case "maxLength":
      return `have at most ${String(params["limit"])} characters; it has ${asText(error.data)?.length ?? 0}`;
    case "minLength":
    case "minItems":
    case "minProperties":
      return "not be empty";
    case "minimum":
      return `be ${String(params["limit"])} or more; ${got}`;
    case "maximum":
      return `be ${String(params["limit"])} or less; ${got}`;
    default:
      // Only `anyOf` and `pattern` are left in our schemas, and both carry their sentence.
      return `${asText(schema["x-must"]) ?? error.keyword}; ${got}`;
  }
}

const typeNames: Record<string, string> = {
  string: "a string",
  object: "an object",
  array: "a list",
  boolean: "true or false",
  integer: "a whole number",
  number: "a number",
  null: "null",
};

function sayTypes(types: unknown): string {
  const names = (Array.isArray(types) ? types : [types])
    .filter((type) => type !== "null")
    .map((type) => typeNames[String(type)] ?? String(type));
  return names.join(" or ");
}
