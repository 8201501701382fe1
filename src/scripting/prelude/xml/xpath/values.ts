/** The four types of XPath 1.0 and how they turn into each other. A node-set is an array. */
import { innerText } from "../inner-text.ts";
import type { XmlNode } from "../node.ts";

export type XPathValue = XmlNode[] | string | number | boolean;

export const stringOfNode = (node: XmlNode): string => innerText(node);

export function toText(value: XPathValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return numberText(value);
  if (typeof value === "boolean") return String(value);
  const [first] = value;
  return first === undefined ? "" : stringOfNode(first);
}

export function toNumber(value: XPathValue): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  const text = toText(value).trim();
  return /^-?(?:\d+(?:\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
}

export function toBoolean(value: XPathValue): boolean {
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return value !== 0 && !Number.isNaN(value);
  return value.length > 0;
}

/** Without exponents, and without a sign for zero. */
function numberText(value: number): string {
  if (value === 0) return "0";
  const text = String(value);
  if (!text.includes("e")) return text;
  return Math.abs(value) >= 1 ? String(BigInt(value)) : value.toFixed(20).replace(/0+$/, "");
}

export function compare(operator: string, left: XPathValue, right: XPathValue): boolean {
  if (operator === "=" || operator === "!=") return equal(operator === "!=", left, right);
  const [low, high] =
    operator === "<" || operator === "<="
      ? [numbersOf(left), numbersOf(right)]
      : [numbersOf(right), numbersOf(left)];
  // Some pair fits exactly when the smallest of one side and the largest of the other do.
  const smallest = low.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const largest = high.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  if (low.length === 0 || high.length === 0) return false;
  return operator.endsWith("=") ? smallest <= largest : smallest < largest;
}

/** What is not a number fits no comparison. */
const numbersOf = (value: XPathValue): number[] =>
  (Array.isArray(value)
    ? value.map((node) => toNumber(stringOfNode(node)))
    : [toNumber(value)]
  ).filter((number) => !Number.isNaN(number));

function equal(isNegated: boolean, left: XPathValue, right: XPathValue): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return setsEqual(isNegated, left.map(stringOfNode), right.map(stringOfNode));
  }
  if (Array.isArray(left))
    return nodesEqual(isNegated, left, right as Exclude<XPathValue, XmlNode[]>);
  if (Array.isArray(right)) return nodesEqual(isNegated, right, left);
  const same =
    typeof left === "boolean" || typeof right === "boolean"
      ? toBoolean(left) === toBoolean(right)
      : typeof left === "number" || typeof right === "number"
        ? toNumber(left) === toNumber(right)
        : left === right;
  return same !== isNegated;
}

/** Some pair of texts is the same, or differs; never by trying all pairs. */
function setsEqual(isNegated: boolean, left: readonly string[], right: readonly string[]): boolean {
  const known = new Set(right);
  if (!isNegated) return left.some((text) => known.has(text));
  if (left.length === 0 || right.length === 0) return false;
  return known.size > 1 || left.some((text) => !known.has(text));
}

function nodesEqual(
  isNegated: boolean,
  nodes: readonly XmlNode[],
  value: string | number | boolean,
): boolean {
  if (typeof value === "boolean") return (nodes.length > 0 === value) !== isNegated;
  if (typeof value === "number") {
    return nodes.some((node) => (toNumber(stringOfNode(node)) === value) !== isNegated);
  }
  return nodes.some((node) => (stringOfNode(node) === value) !== isNegated);
}
