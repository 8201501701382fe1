/** XPath 1.0 on the tree: what `SelectNodes` and its relatives call. */
import { XPathException } from "../../errors.ts";
import { textFrom } from "../../text.ts";
import type { NamespaceMap } from "../namespaces.ts";
import type { XmlNode } from "../node.ts";
import { evaluate } from "./evaluate.ts";
import { parseExpression } from "./parse-expression.ts";
import type { Expression } from "./syntax.ts";
import type { XPathValue } from "./values.ts";

export type XPathResult = XPathValue;

/** A script that asks in a loop asks the same. */
const parsed = new Map<string, Expression>();
const mostParsed = 100;

export function evaluateXPath(
  node: XmlNode,
  xpath: string,
  namespaces: NamespaceMap | null | undefined,
): XPathResult {
  return evaluate(expressionOf(textFrom(xpath)), {
    node,
    position: 1,
    size: 1,
    evaluation: { namespaces, tests: new Map() },
  });
}

export function selectNodes(
  node: XmlNode,
  xpath: string,
  namespaces: NamespaceMap | null | undefined,
): XmlNode[] {
  const found = evaluateXPath(node, xpath, namespaces);
  if (Array.isArray(found)) return found;
  throw new XPathException("Expression must evaluate to a node-set.");
}

function expressionOf(xpath: string): Expression {
  const known = parsed.get(xpath);
  if (known !== undefined) return known;
  const expression = parseExpression(xpath);
  if (parsed.size >= mostParsed) parsed.clear();
  parsed.set(xpath, expression);
  return expression;
}
