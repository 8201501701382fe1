/**
 * JSON Schemas that people publish: compiled once, then used for every payload.
 *
 * The schema is somebody else's text, so nothing in it may hang the process:
 * - size and nesting are limited, and a schema that would evaluate itself forever is refused;
 * - patterns run in linear time (`json-schema/pattern.ts`), and so do `uniqueItems` and `enum`;
 * - what one check may take has a limit, and so has the number of errors that it gathers;
 * - nothing is fetched: a `$ref` to another document accepts everything, with a warning at publish.
 *
 * Unknown keywords are ignored, as the drafts say; `x-labels` and `x-errorMessages` are what callers
 * are told in their language.
 */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { createAjv04 } from "./json-schema/ajv-draft-04.ts";
import { gatherErrors, leaveWithErrors } from "./json-schema/bounded-errors.ts";
import { createBudget, OverBudget, type Budget } from "./json-schema/budget.ts";
import { type Dialect, dialectOf } from "./json-schema/dialect.ts";
import {
  examineSchema,
  type SchemaExamination,
  type SchemaFinding,
} from "./json-schema/examine.ts";
import { formats } from "./json-schema/formats.ts";
import { isSchemaObject } from "./json-schema/nodes.ts";
import { compilePattern } from "./json-schema/pattern.ts";
import { addQuickEnum } from "./json-schema/quick-enum.ts";
import { addLinearUniqueItems } from "./json-schema/unique-items.ts";
import { wordsOf, type Words } from "./json-schema/words.ts";

/** What is wrong with a payload, and where. */
export interface SchemaError {
  /** Dotted way to the member, `items.0.name`; `root` for the payload itself. */
  readonly path: string;
  readonly keyword: string;
  readonly message: string;
  readonly schemaPath: string;
  /** What the keyword asks for: `{ minLength: 3 }`. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly words?: Words;
}

export interface CompiledSchema {
  /** All errors, those of the root and of its children together; none when the payload is right. */
  validate(data: unknown): SchemaError[];
}

/** The schema itself is wrong. Publish asks first, so a stored schema does not throw this. */
export class SchemaMistake extends Error {
  override readonly name = "SchemaMistake";
  readonly mistakes: readonly SchemaFinding[];

  constructor(mistakes: readonly SchemaFinding[]) {
    super(mistakes.map(({ path, message }) => `${path.join(".")}: ${message}`).join(" "));
    this.mistakes = mistakes;
  }
}

/** Everything wrong or doubtful about a schema, compiling included; nothing is thrown. */
export function checkJsonSchema(schema: Readonly<Record<string, unknown>>): {
  mistakes: readonly SchemaFinding[];
  warnings: readonly SchemaFinding[];
} {
  const examination = examineSchema(schema);
  const { mistakes, warnings } = examination;
  if (mistakes.length > 0) return { mistakes, warnings };
  try {
    compileExamined(schema, examination);
    return { mistakes, warnings };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The schema does not compile: ${reason}.`;
    return { mistakes: [{ path: [], message }], warnings };
  }
}

/** Costs milliseconds: keep the result for as long as the schema's version lives. */
export function compileSchema(schema: object | boolean): CompiledSchema {
  if (!isSchemaObject(schema)) {
    return toCompiled(1, (options) => new Ajv2020(options).compile(schema));
  }
  const examination = examineSchema(schema);
  if (examination.mistakes.length > 0) throw new SchemaMistake(examination.mistakes);
  return compileExamined(schema, examination);
}

/**
 * One ajv per schema: a shared one keeps whatever it has compiled, and two schemas with one `$id`
 * would collide. Without meta-schemas that costs a millisecond.
 */
const optionsWith = (allErrors: boolean, budget: Budget): Options => ({
  allErrors,
  // Errors bring the subschema that they are about.
  verbose: true,
  strict: false,
  meta: false,
  validateSchema: false,
  logger: false,
  // References stay calls: inlining would let the generated code grow without bound.
  inlineRefs: false,
  formats,
  code: {
    regExp: Object.assign((source: string) => regExp(source, budget), { code: "compilePattern" }),
    process: leaveWithErrors,
  },
});

/** A step of a pattern is so much quicker than a subschema. */
const patternStepsPerStep = 5;

/** ajv tells patterns apart by `toString`, so each needs its own. */
function regExp(source: string, budget: Budget) {
  const { size, test } = compilePattern(source);
  return {
    test(text: string) {
      budget.spend((text.length * size) / patternStepsPerStep);
      return test(text);
    },
    toString: () => `/${source}/`,
  };
}

const makers: Record<Dialect, (options: Options) => Ajv> = {
  "2020-12": (options) => new Ajv2020(options),
  "2019-09": (options) => new Ajv2019(options),
  "draft-07": (options) => new Ajv(options),
  "draft-04": createAjv04,
};

function compileExamined(
  schema: Readonly<Record<string, unknown>>,
  { elsewhere, effort }: SchemaExamination,
): CompiledSchema {
  const make = makers[dialectOf(schema["$schema"]).dialect];
  const { $schema: _, ...own } = prepare(schema, elsewhere) as Record<string, unknown>;
  return toCompiled(effort, (options) => {
    const ajv = make(options);
    addLinearUniqueItems(ajv);
    addQuickEnum(ajv);
    return ajv.compile(own);
  });
}

/** A copy without the references that lead to other documents. */
function prepare(value: unknown, elsewhere: ReadonlySet<unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => prepare(item, elsewhere));
  if (!isSchemaObject(value)) return value;
  const dropped = elsewhere.has(value) ? ["$ref", "$dynamicRef", "$recursiveRef"] : [];
  return Object.fromEntries(
    Object.entries(value)
      .filter(([keyword]) => !dropped.includes(keyword))
      .map(([keyword, item]) => [keyword, prepare(item, elsewhere)]),
  );
}

/** A payload with a mistake per item is told about the first thousand. */
const mostErrors = 1000;

function toCompiled(
  effort: number,
  compile: (options: Options) => ValidateFunction,
): CompiledSchema {
  const budget = createBudget();
  const all = compile(optionsWith(true, budget));
  let first: ValidateFunction | undefined;
  const isRight = (data: unknown) => (first ??= compile(optionsWith(false, budget)))(data);

  const errorsIn = (data: unknown): readonly ErrorObject[] => {
    const { errors, isCut } = gatherErrors(all, data);
    // Those of a branch that was tried in vain may be the many.
    return isCut && isRight(data) ? [] : errors;
  };
  return {
    validate(data) {
      try {
        budget.open();
        budget.spendOnValues(data, effort);
        const errors = errorsIn(data);
        // "must match then" only repeats the errors of the branch.
        const own = errors.filter((error) => error.keyword !== "if");
        return byKeyword((own.length > 0 ? own : errors).slice(0, mostErrors));
      } catch (error) {
        if (error instanceof OverBudget) return [tooCostly];
        throw error;
      }
    },
  };
}

const tooCostly: SchemaError = {
  path: "root",
  keyword: "size",
  message: "is too large to be checked with this schema; send less at once",
  schemaPath: "#",
};

/** One entry per node and keyword: three members that are missing from one object are one error. */
function byKeyword(errors: readonly ErrorObject[]): SchemaError[] {
  const found: SchemaError[] = [];
  const missing = new Map<string, { at: number; members: string[]; schema: unknown }>();
  for (const error of errors) {
    const said = toSchemaError(error);
    const member: unknown = error.params["missingProperty"];
    if (error.keyword !== "required" || typeof member !== "string") {
      found.push(said);
      continue;
    }
    const id = `${said.schemaPath} ${said.path}`;
    const { parentSchema: schema } = error;
    const group = missing.get(id) ?? { at: found.length, members: [], schema };
    if (group.members.length === 0) found.push(said);
    group.members.push(member);
    missing.set(id, group);
  }
  for (const { at, members, schema } of missing.values()) {
    const list = members.map((member) => JSON.stringify(member)).join(",");
    const message = `Required properties [${list}] are not present`;
    found[at] = { ...found[at]!, message, words: wordsOf(schema, "required", members) };
  }
  return found;
}

function toSchemaError(error: ErrorObject): SchemaError {
  const params: Record<string, unknown> = error.params;
  const steps = error.instancePath
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  // These are about a member that is there; one that is missing has no place but its parent's.
  const member = params["additionalProperty"] ?? params["unevaluatedProperty"];
  if (typeof member === "string") steps.push(member);
  return {
    path: steps.length === 0 ? "root" : steps.join("."),
    keyword: error.keyword,
    message: sayError(error),
    schemaPath: error.schemaPath,
    parameters: isPlain(error.schema) ? { [error.keyword]: error.schema } : {},
    words: wordsOf(error.parentSchema, error.keyword),
  };
}

/** What is no subschema; a list of thousands of values helps nobody. */
const isPlain = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length <= 20 && value.every((item) => !Array.isArray(item) && isPlain(item))
    : value !== undefined && (typeof value !== "object" || value === null);

function sayError({ keyword, params, message }: ErrorObject): string {
  const said = message ?? `fails '${keyword}'`;
  const allowed: unknown = params["allowedValues"];
  if (keyword === "enum" && Array.isArray(allowed) && allowed.length <= 20) {
    return `must be one of ${allowed.map((value) => JSON.stringify(value)).join(", ")}`;
  }
  if (keyword === "const") return `must be ${JSON.stringify(params["allowedValue"])}`;
  return said;
}
