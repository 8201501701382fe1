/** What an XPath 1.0 expression is made of. */

export const axes = [
  "child",
  "descendant",
  "descendant-or-self",
  "parent",
  "ancestor",
  "ancestor-or-self",
  "following-sibling",
  "preceding-sibling",
  "self",
  "attribute",
] as const;
export type Axis = (typeof axes)[number];

export type NodeTest =
  /** `*`, `p:*`, `p:name`, `name`; an empty local name is the star, a null prefix any namespace. */
  | { readonly kind: "name"; readonly prefix: string | null; readonly local: string }
  | { readonly kind: "text" | "node" | "comment" | "processing-instruction" };

export interface Step {
  readonly axis: Axis;
  readonly test: NodeTest;
  readonly predicates: readonly Expression[];
  /** Some predicate counts: it must be asked per context node, in the axis' own order. */
  readonly isPositional: boolean;
}

export type BinaryOperator =
  | "or"
  | "and"
  | "="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "+"
  | "-"
  | "*"
  | "div"
  | "mod"
  | "|";

export type Expression =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "literal"; readonly value: string }
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: "negate"; readonly operand: Expression }
  | {
      readonly kind: "binary";
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: "path";
      /** Where it begins: the root, the context node, or what another expression finds. */
      readonly start: "root" | "context" | Expression;
      readonly steps: readonly Step[];
    }
  | {
      readonly kind: "filter";
      readonly base: Expression;
      readonly predicates: readonly Expression[];
    };

const numeric = new Set([
  "position",
  "last",
  "count",
  "sum",
  "number",
  "string-length",
  "floor",
  "ceiling",
  "round",
]);

/** Whether the answer may be a number (which a predicate compares with the position) or ask for it. */
export const isPositional = (predicate: Expression): boolean =>
  mayBeNumber(predicate) || asksForPosition(predicate);

function mayBeNumber(expression: Expression): boolean {
  switch (expression.kind) {
    case "number":
    case "negate":
      return true;
    case "call":
      return numeric.has(expression.name);
    case "binary":
      return ["+", "-", "*", "div", "mod"].includes(expression.operator);
    default:
      return false;
  }
}

/** The predicates of an inner path have positions of their own; asking there too is only slower. */
function asksForPosition(expression: Expression): boolean {
  switch (expression.kind) {
    case "call":
      return (
        ["position", "last"].includes(expression.name) || expression.args.some(asksForPosition)
      );
    case "negate":
      return asksForPosition(expression.operand);
    case "binary":
      return asksForPosition(expression.left) || asksForPosition(expression.right);
    case "filter":
      return asksForPosition(expression.base);
    case "path":
      return typeof expression.start === "object" && asksForPosition(expression.start);
    default:
      return false;
  }
}
