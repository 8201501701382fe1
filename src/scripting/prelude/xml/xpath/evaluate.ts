import { XPathException } from "../../errors.ts";
import { lookUpPrefix, type NamespaceMap } from "../namespaces.ts";
import type { XmlNode } from "../node.ts";
import { isReverse, keepsOrder, walk } from "./axes.ts";
import { inDocumentOrder, rootOf } from "./document-order.ts";
import { callFunction, type CallContext } from "./functions.ts";
import type { Expression, NodeTest, Step } from "./syntax.ts";
import { compare, toBoolean, toNumber, type XPathValue } from "./values.ts";

/** What stays the same throughout one evaluation. */
export interface Evaluation {
  readonly namespaces: NamespaceMap | null | undefined;
  /** Each step's test with its prefix resolved, once it was needed. */
  readonly tests: Map<Step, Test>;
}

export interface EvaluationContext extends CallContext {
  readonly evaluation: Evaluation;
}

export function evaluate(expression: Expression, context: EvaluationContext): XPathValue {
  switch (expression.kind) {
    case "number":
    case "literal":
      return expression.value;
    case "negate":
      return -toNumber(evaluate(expression.operand, context));
    case "call":
      return callFunction(
        expression.name,
        expression.args.map((arg) => evaluate(arg, context)),
        context,
      );
    case "binary":
      return binary(expression, context);
    case "filter": {
      const nodes = nodesOf(evaluate(expression.base, context));
      return expression.predicates.reduce(
        (left, predicate) => filtered(left, predicate, context),
        nodes,
      );
    }
    case "path":
      return path(expression, context);
  }
}

function binary(
  { operator, left, right }: Extract<Expression, { kind: "binary" }>,
  context: EvaluationContext,
): XPathValue {
  if (operator === "or" || operator === "and") {
    const first = toBoolean(evaluate(left, context));
    return first === (operator === "or") ? first : toBoolean(evaluate(right, context));
  }
  const a = evaluate(left, context);
  const b = evaluate(right, context);
  switch (operator) {
    case "|":
      return inDocumentOrder([...nodesOf(a), ...nodesOf(b)]);
    case "+":
      return toNumber(a) + toNumber(b);
    case "-":
      return toNumber(a) - toNumber(b);
    case "*":
      return toNumber(a) * toNumber(b);
    case "div":
      return toNumber(a) / toNumber(b);
    case "mod":
      return toNumber(a) % toNumber(b);
    default:
      return compare(operator, a, b);
  }
}

function path(
  { start, steps }: Extract<Expression, { kind: "path" }>,
  context: EvaluationContext,
): XmlNode[] {
  let nodes =
    start === "root"
      ? [rootOf(context.node)]
      : start === "context"
        ? [context.node]
        : nodesOf(evaluate(start, context));
  // No node holds another, so children of earlier ones come before children of later ones.
  let isFlat = nodes.length <= 1;
  for (const step of steps) {
    const found = step.isPositional
      ? counted(nodes, step, context)
      : gathered(nodes, step, context);
    const isOrdered = nodes.length <= 1 ? !isReverse(step.axis) : isFlat && keepsOrder(step.axis);
    nodes = isOrdered ? found : inDocumentOrder(found);
    isFlat = nodes.length <= 1 || (isFlat && keepsOrder(step.axis));
  }
  return nodes;
}

/**
 * The nodes along the axis that fit, each once. Where a walk meets a node that an earlier walk has
 * passed, the rest of it has been passed too: the whole step visits every node once.
 */
function gathered(from: readonly XmlNode[], step: Step, context: EvaluationContext): XmlNode[] {
  const fits = testOf(step, context);
  const found: XmlNode[] = [];
  if (from.length === 1 || keepsOrder(step.axis)) {
    for (const node of from) {
      walk[step.axis](node, (candidate) => {
        if (fits(candidate)) found.push(candidate);
        return false;
      });
    }
  } else {
    const passed = new Set<XmlNode>();
    const includesSelf = step.axis.endsWith("-or-self");
    const isDownwards = step.axis.startsWith("descendant");
    for (const node of from) {
      // In document order: what lies below a node that was passed downwards was passed as well.
      if (isDownwards && passed.has(node)) continue;
      walk[step.axis](node, (candidate) => {
        if (passed.has(candidate)) return !(includesSelf && candidate === node);
        passed.add(candidate);
        if (fits(candidate)) found.push(candidate);
        return false;
      });
    }
  }
  let left = found;
  for (const predicate of step.predicates) left = filtered(left, predicate, context);
  return left;
}

/** Predicates that count do so per context node, in the order of the axis. */
function counted(from: readonly XmlNode[], step: Step, context: EvaluationContext): XmlNode[] {
  const fits = testOf(step, context);
  const [first] = step.predicates;
  // `[1]` needs no more than the first one.
  const enough = first?.kind === "number" ? Math.max(first.value, 0) : Number.POSITIVE_INFINITY;
  return from.flatMap((node) => {
    const candidates: XmlNode[] = [];
    walk[step.axis](node, (candidate) => {
      if (fits(candidate)) candidates.push(candidate);
      return candidates.length >= enough;
    });
    return step.predicates.reduce<XmlNode[]>(
      (left, predicate) => filtered(left, predicate, context),
      candidates,
    );
  });
}

function filtered(
  nodes: readonly XmlNode[],
  predicate: Expression,
  { evaluation }: EvaluationContext,
): XmlNode[] {
  const size = nodes.length;
  return nodes.filter((node, i) => {
    const value = evaluate(predicate, { node, position: i + 1, size, evaluation });
    return typeof value === "number" ? value === i + 1 : toBoolean(value);
  });
}

type Test = (node: XmlNode) => boolean;

const isText: Test = ({ NodeType }) => NodeType === "Text" || NodeType === "CDATA";

const typeTests: Readonly<Record<Exclude<NodeTest["kind"], "name">, Test>> = {
  // The XML declaration is not part of what XPath sees.
  node: ({ NodeType }) => NodeType !== "XmlDeclaration",
  text: isText,
  comment: ({ NodeType }) => NodeType === "Comment",
  "processing-instruction": ({ NodeType }) => NodeType === "ProcessingInstruction",
};

function testOf(step: Step, { evaluation }: EvaluationContext): Test {
  let test = evaluation.tests.get(step);
  if (test === undefined) {
    test = nodeTest(step, evaluation);
    evaluation.tests.set(step, test);
  }
  return test;
}

function nodeTest({ axis, test }: Step, { namespaces }: Evaluation): Test {
  if (test.kind !== "name") return typeTests[test.kind];
  const principal = axis === "attribute" ? "Attribute" : "Element";
  const { prefix, local } = test;
  if (prefix === null) return (node) => node.NodeType === principal;
  const namespace = prefix === "" ? "" : lookUpPrefix(namespaces, prefix);
  if (namespace === undefined) {
    throw new XPathException(`Namespace prefix '${prefix}' is not defined.`);
  }
  return (node) =>
    (local === "" || node.LocalName === local) &&
    node.NodeType === principal &&
    node.NamespaceURI === namespace;
}

function nodesOf(value: XPathValue): XmlNode[] {
  if (Array.isArray(value)) return value;
  throw new XPathException("Expression must evaluate to a node-set.");
}
