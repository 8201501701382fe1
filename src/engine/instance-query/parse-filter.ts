/**
 * Reads the `filter` parameter: JSON, or the legacy form `[attributes=]field=op:value`.
 *
 * Nothing is ever skipped: a member that is not understood becomes a reason. A dropped condition
 * would answer a narrow question with everybody's rows.
 */
import { readField, readPath, type Field } from "./field.ts";
import type { FilterNode } from "./filter.ts";
import { findOperator, operators, suggestOperator, type Operator } from "./operators.ts";
import { parseCondition } from "./parse-condition.ts";
import { isObject, type Json, type JsonObject } from "./read-json.ts";
import { shown, type Reasons } from "./reasons.ts";

export const maxFilterLength = 5000;

/** Deeper logic than this is a program, not a question; it also bounds the generated SQL. */
const maxLogicDepth = 32;

const logicNames = ["and", "or", "not"] as const;
type Logic = (typeof logicNames)[number];
const asLogic = (name: string): Logic | undefined =>
  logicNames.find((logic) => logic === name.toLowerCase());

/** Where we are: what targets start with, and how deep. */
interface Place {
  readonly target: string;
  readonly depth: number;
}

/** A node that restricts nothing (`{}`, `{"attributes":{}}`) is undefined, and so is a refused one. */
export function parseFilterNode(
  json: Json,
  reasons: Reasons,
  place: Place = { target: "filter", depth: 0 },
): FilterNode | undefined {
  if (!isObject(json)) {
    reasons.add("filter.invalidValue", place.target, "A filter must be a JSON object.");
    return undefined;
  }
  if (place.depth > maxLogicDepth) {
    reasons.add(
      "filter.tooDeep",
      place.target,
      `'and', 'or' and 'not' may be nested ${maxLogicDepth} deep.`,
    );
    return undefined;
  }
  const logic = [...json.keys()].find((name) => asLogic(name) !== undefined);
  if (logic === undefined) return allOf(parseMembers(json, reasons, place));
  // The public system would ignore the other members, which answers with more rows than asked for.
  if (json.size > 1) {
    reasons.add(
      "filter.ambiguousNode",
      place.target,
      `'${logic}' must be the only member of its object. Put the other conditions inside an 'and'.`,
    );
    return undefined;
  }
  return parseLogic(logic, json.get(logic) ?? null, reasons, place);
}

function parseLogic(name: string, operand: Json, reasons: Reasons, place: Place) {
  const logic = asLogic(name);
  const target = `${place.target}.${logic}`;
  if (logic === "not") {
    const node = parseFilterNode(operand, reasons, { target, depth: place.depth + 1 });
    if (node !== undefined) return { kind: "not", node } as const;
    return refuseEmpty(reasons, target, "The 'not' operator requires a condition.");
  }
  if (!Array.isArray(operand)) {
    reasons.add(
      "filter.invalidValue",
      target,
      `The '${logic}' operator takes a list of conditions.`,
    );
    return undefined;
  }
  if (operand.length === 0) {
    return refuseEmpty(reasons, target, `The '${logic}' operator requires at least one condition.`);
  }
  const nodes: FilterNode[] = [];
  operand.forEach((element, index) => {
    const at = { target: `${target}[${index}]`, depth: place.depth + 1 };
    const node = parseFilterNode(element, reasons, at);
    if (node !== undefined) nodes.push(node);
    // An empty branch of an `or` would let every row through.
    else if (logic === "or") refuseEmpty(reasons, at.target, "A branch of 'or' must not be empty.");
  });
  return logic === "or" ? ({ kind: "or", nodes } as const) : allOf(nodes);
}

/** Says that something is empty, unless what made it empty has been said already. */
function refuseEmpty(reasons: Reasons, target: string, message: string): undefined {
  if (!reasons.list.some((reason) => reason.target.startsWith(target))) {
    reasons.add("filter.emptyLogicalOperator", target, message);
  }
  return undefined;
}

function parseMembers(json: JsonObject, reasons: Reasons, place: Place): FilterNode[] {
  return [...json].flatMap(([name, value]) => {
    if (name.toLowerCase() === "attributes") return parseAttributes(value, reasons, place);
    const target = `${place.target}.${shown(name)}`;
    if (name.trim() === "") {
      reasons.add("filter.emptyFieldName", place.target, "A field name must not be empty.");
      return [];
    }
    if (!isObject(value)) {
      reasons.add(
        "filter.unknownProperty",
        target,
        `'${shown(name)}' is not a filter property. Expected 'and', 'or', 'not', 'attributes', or a field name with an operator object.`,
      );
      return [];
    }
    const field = readField(name);
    if ("mistake" in field) {
      reasons.add("filter.invalidField", target, field.mistake);
      return [];
    }
    return parseOperators(field.found, value, reasons, target);
  });
}

function parseAttributes(json: Json, reasons: Reasons, place: Place): FilterNode[] {
  if (!isObject(json)) {
    const message = "'attributes' must be an object of data fields.";
    reasons.add("filter.unknownProperty", `${place.target}.attributes`, message);
    return [];
  }
  return [...json].flatMap(([name, value]) =>
    parseDataField([], name, value, reasons, place.target),
  );
}

function parseDataField(
  parent: readonly string[],
  name: string,
  value: Json,
  reasons: Reasons,
  parentTarget: string,
): FilterNode[] {
  if (name.trim() === "") {
    reasons.add("filter.emptyFieldName", parentTarget, "A field name must not be empty.");
    return [];
  }
  const target = `${parentTarget}.${shown(name)}`;
  const path = readPath(name, parent);
  if ("mistake" in path) {
    reasons.add("filter.invalidField", target, path.mistake);
    return [];
  }
  if (!isObject(value)) {
    reasons.add(
      "filter.noOperator",
      target,
      `Field '${shown(name)}' must specify an operator, such as {"eq": …}.`,
    );
    return [];
  }
  return parseOperators({ kind: "data", path: path.found }, value, reasons, target);
}

/** The members of a field's object: operators, and for data also nested fields. */
function parseOperators(
  field: Field,
  json: JsonObject,
  reasons: Reasons,
  target: string,
): FilterNode[] {
  if (json.size === 0) {
    const known = operators.join(", ");
    reasons.add("filter.noOperator", target, `Name at least one operator: ${known}.`);
    return [];
  }
  const names = [...json.keys()];
  if (names.length > 1 && names.some((name) => findOperator(name) === "includes")) {
    const message = "'includes' must be the only operator on its field.";
    reasons.add("filter.operatorNotAllowed", `${target}.includes`, message);
    return [];
  }
  return [...json].flatMap(([name, value]) => {
    const operator = findOperator(name);
    if (operator !== undefined) {
      const at = `${target}.${shown(name)}`;
      const node = parseCondition(
        { field, operator, operand: value, typed: true, target: at },
        reasons,
      );
      return node === undefined ? [] : [node];
    }
    if (field.kind === "data" && isObject(value)) {
      return parseDataField(field.path, name, value, reasons, target);
    }
    refuseOperator(name, reasons, target);
    return [];
  });
}

export function refuseOperator(name: string, reasons: Reasons, fieldTarget: string): void {
  if (name === "") {
    reasons.add("filter.emptyOperatorName", fieldTarget, "An operator name must not be empty.");
    return;
  }
  const suggestion: Operator | undefined = suggestOperator(name);
  const remedy =
    suggestion === undefined
      ? `Supported operators: ${operators.join(", ")}.`
      : `Did you mean '${suggestion}'?`;
  reasons.add(
    "filter.unknownOperator",
    `${fieldTarget}.${shown(name)}`,
    `Operator '${shown(name)}' is not supported. ${remedy}`,
  );
}

function allOf(nodes: readonly FilterNode[]): FilterNode | undefined {
  return nodes.length > 1 ? { kind: "and", nodes } : nodes[0];
}
