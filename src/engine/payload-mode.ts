import { isExactNumber, isJsonObject, type JsonObject, type JsonValue } from "./exact-json.ts";
import type { ErrorsByPath } from "./problem.ts";

/**
 * What the body of a start or a transition says. Specification, "Payload modes":
 *
 * standard   the envelope `{ key, tags, stage, attributes }`; other members beside it are ignored
 * free-form  the whole body is the data: `{ attributes: <body> }`
 *
 * The mode header decides when it is there; otherwise the names of the body's members do.
 */
export const PayloadMode = { standard: "standard", freeForm: "free-form" } as const;
export type PayloadMode = (typeof PayloadMode)[keyof typeof PayloadMode];

export interface Payload {
  /** Start: the instance's business key. Transition: the request's idempotency key. */
  key?: string;
  tags?: string[];
  stage?: string;
  attributes: JsonValue;
}

/** Everything that is wrong with an envelope, by path. */
export class PayloadError {
  readonly errors: ErrorsByPath;

  constructor(errors: ErrorsByPath) {
    this.errors = errors;
  }
}

export const keyLimit = 100;
export const stageLimit = 120;

/** Rule "all matching is case-insensitive": ASCII letters only, so that no `K` (Kelvin) is a k. */
const isNamed = {
  key: (name: string) => /^key$/i.test(name),
  tags: (name: string) => /^tags$/i.test(name),
  stage: (name: string) => /^stage$/i.test(name),
  attributes: (name: string) => /^attributes$/i.test(name),
} as const;

export type EnvelopeField = keyof typeof isNamed;

export const isEnvelopeField = (field: EnvelopeField, name: string): boolean =>
  isNamed[field](name);

/** The mode of a body with these top-level names; shared by JSON and form bodies. */
export function resolvePayloadMode(
  header: string | undefined,
  names: readonly string[],
): PayloadMode {
  return modeInHeader(header) ?? modeByShape(names);
}

function modeInHeader(header: string | undefined): PayloadMode | undefined {
  const word = header?.trim().toLowerCase() ?? "";
  // A header without a value says nothing, like an absent one. Any word but `raw` is standard.
  if (word === "") return undefined;
  return word === "raw" ? PayloadMode.freeForm : PayloadMode.standard;
}

function modeByShape(names: readonly string[]): PayloadMode {
  // Rule 1.
  if (names.some(isNamed.attributes)) return PayloadMode.standard;
  // Rules 2 and 3: an empty body is free-form, and `every` is true of nothing. Rule 5 follows: data
  // made only of these names needs the header value `raw`.
  const isEnvelope = names.length > 0 && names.every((name) => /^(?:key|tags|stage)$/i.test(name));
  return isEnvelope ? PayloadMode.standard : PayloadMode.freeForm;
}

export function resolvePayload(
  body: unknown,
  header: string | undefined,
  kind: "start" | "transition",
): Payload | PayloadError {
  // No body and JSON null both mean: no data.
  if (body === undefined || body === null) return { attributes: {} };
  if (isJsonObject(body)) {
    return resolvePayloadMode(header, Object.keys(body)) === PayloadMode.standard
      ? readEnvelope(body, kind)
      : { attributes: body }; // rule 4
  }
  // An array or a scalar has no names for the shape rule: only the header can make it free-form.
  if (modeInHeader(header) === PayloadMode.freeForm) return { attributes: body as JsonValue };
  return new PayloadError({
    body: [
      `The body of a ${kind} is ${describe(body)}. Send an object, or the header x-service-payload-mode: raw to use any JSON as data.`,
    ],
  });
}

function readEnvelope(body: JsonObject, kind: "start" | "transition"): Payload | PayloadError {
  const errors: ErrorsByPath = {};
  const key = readText(body, "key", keyLimit, errors);
  const stage = readText(body, "stage", stageLimit, errors);
  const tags = readTags(body, errors, kind);
  if (Object.keys(errors).length > 0) return new PayloadError(errors);
  return {
    ...(key === undefined ? {} : { key }),
    ...(tags === undefined ? {} : { tags }),
    ...(stage === undefined ? {} : { stage }),
    // Null and absent are both "no data"; anything else is taken as it is.
    attributes: memberOf(body, "attributes") ?? {},
  };
}

/**
 * Rule 6: standard bodies bind camelCase names, in any case. Of several spellings the camelCase one
 * wins, wherever it stands; without it the last one does, as with repeated names in JSON.
 */
function memberOf(body: JsonObject, field: EnvelopeField): JsonValue | undefined {
  if (Object.hasOwn(body, field)) return body[field];
  const spelling = Object.keys(body).findLast(isNamed[field]);
  return spelling === undefined ? undefined : body[spelling];
}

function readText(
  body: JsonObject,
  field: "key" | "stage",
  limit: number,
  errors: ErrorsByPath,
): string | undefined {
  const value = memberOf(body, field) ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "string") {
    errors[field] = [
      `'${field}' is ${describe(value)}. Send a string of 1 to ${limit} characters.`,
    ];
    return undefined;
  }
  if (value.length > limit) {
    errors[field] = [
      `'${field}' has ${value.length} characters; at most ${limit} are allowed. Send a shorter one.`,
    ];
    return undefined;
  }
  // A blank text is an empty field of a form: nothing was given.
  return value.trim() === "" ? undefined : value;
}

function readTags(
  body: JsonObject,
  errors: ErrorsByPath,
  kind: "start" | "transition",
): string[] | undefined {
  const value = memberOf(body, "tags") ?? undefined;
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) {
    errors["tags"] = [
      `'tags' of a ${kind} is ${describe(value)}. Send an array of strings, such as ["urgent"].`,
    ];
    return undefined;
  }
  const tags: string[] = [];
  for (const [i, tag] of value.entries()) {
    if (typeof tag === "string") tags.push(tag);
    else errors[`tags[${i}]`] = [`'tags[${i}]' is ${describe(tag)}. Send a string.`];
  }
  return tags;
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (isExactNumber(value)) return `the number ${shortened(value.text)}`;
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return `the string '${shortened(value)}'`;
  if (typeof value === "number" || typeof value === "boolean") {
    return `the ${typeof value} ${value}`;
  }
  return `a ${typeof value}`;
}

const shortened = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
