/** One operator on one field: `amount gt 5`. Both forms of a filter end here. */
import { columns, operatorsOf } from "./columns.ts";
import type { Field, Found } from "./field.ts";
import type { ColumnValue, FilterNode } from "./filter.ts";
import {
  booleanValue,
  bound,
  checkIncludes,
  checkScalar,
  columnValue,
  commaList,
  equalForms,
  maxValueLength,
  scalarText,
} from "./operand.ts";
import type { Operator, Relation } from "./operators.ts";
import { isObject, writeJson, type Json } from "./read-json.ts";
import type { Reasons } from "./reasons.ts";

export interface Condition {
  readonly field: Field;
  readonly operator: Operator;
  readonly operand: Json;
  /** False where the operand's type is not known: the legacy form has only text. */
  readonly typed: boolean;
  readonly target: string;
}

/** The test the condition stands for, or undefined after saying what is wrong with it. */
export function parseCondition(condition: Condition, reasons: Reasons): FilterNode | undefined {
  const { field, operator, target } = condition;
  if (field.kind === "column" && !operatorsOf[columns[field.column]].includes(operator)) {
    const allowed = operatorsOf[columns[field.column]].join(", ");
    reasons.add(
      "filter.operatorNotAllowed",
      target,
      `Operator '${operator}' cannot be used on column '${field.column}'. Use one of ${allowed}.`,
    );
    return undefined;
  }
  const understood = understand[operator](condition);
  if ("found" in understood) return understood.found;
  if ("tooLong" in understood) {
    reasons.add(
      "filter.valueTooLong",
      target,
      `A value may have at most ${maxValueLength} characters. Shorten the value of '${operator}'.`,
    );
  } else {
    reasons.add("filter.invalidValue", target, `The value of '${operator}' ${understood.mistake}`);
  }
  return undefined;
}

type Understood = Found<FilterNode> | { readonly tooLong: true };

/** A table, so that the compiler asks for a row when an operator is added. */
const understand: Readonly<Record<Operator, (condition: Condition) => Understood>> = {
  eq: (condition) => membership(condition, [condition.operand], condition.typed),
  ne: (condition) => membership(condition, [condition.operand], condition.typed),
  in: (condition) => listed(condition, membership),
  nin: (condition) => listed(condition, membership),
  gt: (condition) => comparison(condition, "gt", condition.operand),
  ge: (condition) => comparison(condition, "ge", condition.operand),
  lt: (condition) => comparison(condition, "lt", condition.operand),
  le: (condition) => comparison(condition, "le", condition.operand),
  between: (condition) => listed(condition, range),
  like: (condition) => textMatch(condition, "anywhere"),
  match: (condition) => textMatch(condition, "anywhere"),
  startswith: (condition) => textMatch(condition, "start"),
  endswith: (condition) => textMatch(condition, "end"),
  isNull: nullness,
  includes: including,
};

/** Lists are JSON arrays, or text with commas as the legacy form and form-driven clients send it. */
function listed(
  condition: Condition,
  build: (condition: Condition, values: readonly Json[], typed: boolean) => Understood,
): Understood {
  const { operand } = condition;
  if (typeof operand === "string") return build(condition, commaList(operand), false);
  if (!Array.isArray(operand)) return { mistake: "must be a list." };
  return build(condition, operand, condition.typed);
}

function membership(condition: Condition, values: readonly Json[], typed: boolean): Understood {
  const { field, operator } = condition;
  const inList = operator === "in" || operator === "nin";
  // Wire contract §5.4: nulls in a list are dropped. A list with nothing else asks nothing.
  const given = inList ? values.filter((value) => value !== null) : values;
  if (given.length === 0) return { mistake: "must name at least one value." };
  const negated = operator === "ne" || operator === "nin";
  const unfit = firstUnfit(given);
  if (unfit !== undefined) return unfit;
  if (field.kind === "column") {
    const found: ColumnValue[] = [];
    for (const value of given) {
      const read = columnValue(columns[field.column], value);
      if ("mistake" in read) return read;
      found.push(read.found);
    }
    return { found: { ...field, test: { is: "oneOf", negated, values: found } } };
  }
  const forms: string[] = [];
  for (const value of given) {
    const read = equalForms(value, typed);
    if ("mistake" in read) return read;
    forms.push(...read.found);
  }
  return { found: { ...field, test: { is: "oneOf", negated, values: forms } } };
}

function range(condition: Condition, values: readonly Json[]): Understood {
  const [min, max] = values;
  if (values.length !== 2 || min === undefined || max === undefined) {
    return { mistake: "must be a list of two values: [min, max]." };
  }
  // Both ends first: a value over the limit is told as such, whatever stands beside it.
  const unfit = firstUnfit(values);
  if (unfit !== undefined) return unfit;
  const from = comparison(condition, "ge", min);
  if (!("found" in from)) return from;
  const to = comparison(condition, "le", max);
  if (!("found" in to)) return to;
  if (boundKind(from.found) !== boundKind(to.found)) {
    return { mistake: "must be two numbers or two dates, not one of each." };
  }
  return { found: { kind: "and", nodes: [from.found, to.found] } };
}

const boundKind = (node: FilterNode): string | undefined =>
  node.kind === "data" && node.test.is === "compared" ? node.test.value.kind : undefined;

function comparison(condition: Condition, relation: Relation, operand: Json): Understood {
  const unfit = checkScalar(operand);
  if (unfit !== undefined) return unfit;
  const { field } = condition;
  if (field.kind === "column") {
    const read = columnValue(columns[field.column], operand);
    if ("mistake" in read) return read;
    const test = { is: "compared", relation, value: read.found } as const;
    return { found: { ...field, test } };
  }
  const read = bound(operand);
  if ("mistake" in read) return read;
  const test = { is: "compared", relation, value: read.found } as const;
  return { found: { ...field, test } };
}

function textMatch(condition: Condition, where: "anywhere" | "start" | "end"): Understood {
  const unfit = checkScalar(condition.operand);
  if (unfit !== undefined) return unfit;
  const text = scalarText(condition.operand);
  if (text === undefined) return { mistake: "must be text." };
  return { found: { ...condition.field, test: { is: "text", where, text } } };
}

function nullness(condition: Condition): Understood {
  const expected = booleanValue(condition.operand);
  if (expected === undefined) return { mistake: "must be true or false." };
  return { found: { ...condition.field, test: { is: "null", expected } } };
}

function including(condition: Condition): Understood {
  const { field, operand } = condition;
  if (field.kind !== "data") return { mistake: "is for data fields only." };
  if (!isObject(operand) || operand.size === 0) {
    return { mistake: 'must be an object with at least one member, such as {"code":"A"}.' };
  }
  const unfit = checkIncludes(operand);
  if (unfit !== undefined) return unfit;
  return { found: { ...field, test: { is: "including", object: writeJson(operand) } } };
}

function firstUnfit(values: readonly Json[]): { tooLong: true } | { mistake: string } | undefined {
  for (const value of values) {
    const unfit = checkScalar(value);
    if (unfit !== undefined) return unfit;
  }
  return undefined;
}
