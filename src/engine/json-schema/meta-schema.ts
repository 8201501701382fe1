/** Checks a schema with the meta-schema of its dialect, and says the result in one sentence each. */
import { type ErrorObject, Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { createAjv04 } from "./ajv-draft-04.ts";
import { gatherErrors, leaveWithErrors } from "./bounded-errors.ts";
import type { Dialect } from "./dialect.ts";
import type { SchemaFinding } from "./examine.ts";
import type { Step } from "./nodes.ts";

/**
 * Compiling a meta-schema takes some 20 ms, so each is compiled when first needed and kept. It
 * depends on nothing but the draft, and user schemas are only data to it.
 */
const compiled = new Map<Dialect, ValidateFunction>();

const metaSchemas: Record<Dialect, { readonly id: string; readonly make: () => Ajv }> = {
  "2020-12": {
    id: "https://json-schema.org/draft/2020-12/schema",
    make: () => new Ajv2020(options),
  },
  "2019-09": {
    id: "https://json-schema.org/draft/2019-09/schema",
    make: () => new Ajv2019(options),
  },
  "draft-07": { id: "http://json-schema.org/draft-07/schema", make: () => new Ajv(options) },
  "draft-04": { id: "http://json-schema.org/draft-04/schema", make: () => createAjv04(options) },
};

// Formats are off: patterns and references are looked at in `examine.ts`, with better words.
const options: Options = {
  allErrors: true,
  strict: false,
  validateFormats: false,
  logger: false,
  code: { process: leaveWithErrors },
};

export function metaSchemaMistakes(schema: unknown, dialect: Dialect): SchemaFinding[] {
  const { errors: found } = gatherErrors(metaSchemaOf(dialect), schema);
  const byPlace = new Map<string, ErrorObject[]>();
  for (const error of found) {
    const errors = byPlace.get(error.instancePath) ?? [];
    byPlace.set(error.instancePath, [...errors, error]);
  }
  const places = [...byPlace.keys()];
  return [...byPlace]
    .filter(([place, errors]) => !isOnlyConsequence(place, errors, places))
    .map(([place, errors]) => ({ path: stepsOf(place), message: say(place, errors) }));
}

function metaSchemaOf(dialect: Dialect): ValidateFunction {
  const known = compiled.get(dialect);
  if (known !== undefined) return known;
  const { id, make } = metaSchemas[dialect];
  const validate = make().getSchema(id);
  if (validate === undefined) throw new Error(`ajv has no meta-schema ${id}`);
  compiled.set(dialect, validate);
  return validate;
}

const isUnion = (error: ErrorObject): boolean => /^(?:anyOf|oneOf|if)$/.test(error.keyword);

/** "No branch fits" because of an error deeper down, which has a message of its own. */
const isOnlyConsequence = (place: string, errors: ErrorObject[], places: string[]): boolean =>
  errors.some(isUnion) && places.some((other) => other.startsWith(`${place}/`));

const typeWords = "array, boolean, integer, null, number, object or string";

function say(place: string, errors: readonly ErrorObject[]): string {
  const name = stepsOf(place).at(-1) ?? "The schema";
  if (name === "type") return `'type' must be ${typeWords}, or a list of these.`;
  const [first] = errors.filter((error) => !isUnion(error));
  const subject = typeof name === "number" ? `Item ${name}` : place === "" ? name : `'${name}'`;
  return `${subject} ${first?.message ?? "is not allowed here"}.`;
}

const stepsOf = (pointer: string): Step[] =>
  pointer
    .split("/")
    .slice(1)
    .map((raw) => {
      const step = raw.replaceAll("~1", "/").replaceAll("~0", "~");
      return /^\d+$/.test(step) ? Number(step) : step;
    });
