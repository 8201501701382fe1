/** The older one-condition form of a filter: `status=eq:Active`, `attributes=amount=between:50,200`. */
import { readField, readPath, type Field, type Found } from "./field.ts";
import type { FilterNode } from "./filter.ts";
import { findOperator } from "./operators.ts";
import { parseCondition } from "./parse-condition.ts";
import { refuseOperator } from "./parse-filter.ts";
import { shown, type Reasons } from "./reasons.ts";

/** The value may hold anything, line breaks included. */
const legacyPattern = /^(attributes=)?([^=:\s]+)=([A-Za-z]+):(.*)$/is;

export const isLegacyFilter = (text: string): boolean => legacyPattern.test(text);

export function parseLegacyFilter(text: string, reasons: Reasons): FilterNode | undefined {
  const [, inData, name = "", operatorName = "", value = ""] = legacyPattern.exec(text) ?? [];
  const target = `filter.${shown(name)}`;
  const field = inData === undefined ? readField(name) : dataField(name);
  if ("mistake" in field) {
    reasons.add("filter.invalidField", target, field.mistake);
    return undefined;
  }
  const operator = findOperator(operatorName);
  if (operator === undefined) {
    refuseOperator(operatorName, reasons, target);
    return undefined;
  }
  const at = `${target}.${operatorName}`;
  if (operator === "isNull" || operator === "includes") {
    reasons.add("filter.operatorNotAllowed", at, `'${operator}' needs the JSON form of a filter.`);
    return undefined;
  }
  if (value === "") {
    reasons.add("filter.invalidValue", at, `'${operator}' has no value after the colon.`);
    return undefined;
  }
  return parseCondition(
    { field: field.found, operator, operand: value, typed: false, target: at },
    reasons,
  );
}

function dataField(name: string): Found<Field> {
  const path = readPath(name);
  return "mistake" in path ? path : { found: { kind: "data", path: path.found } };
}
