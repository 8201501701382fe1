/**
 * What the parser makes of an expression.
 *
 * Operators of one precedence that stand side by side are one flat node (`a || b || c`), and so are
 * the links of an access chain and the cases of `a ? b : c ? d : e`. A long rule is therefore not a
 * deep one: only brackets, branches, arguments and prefix operators nest.
 *
 * `at` is an offset in the source.
 */
import type { ExactNumber } from "../../../engine/exact-json.ts";

export type SyntaxNode =
  | LiteralNode
  | NameNode
  | FunctionCallNode
  | ArrayNode
  | ChainNode
  | PrefixNode
  | CastNode
  | ShortCircuitNode
  | OperationNode
  | ConditionalNode;

export interface LiteralNode {
  readonly type: "literal";
  readonly at: number;
  readonly value: null | boolean | number | string | ExactNumber;
  /** Written without point, exponent or a suffix of the real types. */
  readonly integer: boolean;
}

/** `context`, or the name of a type whose static members follow. */
export interface NameNode {
  readonly type: "name";
  readonly at: number;
  readonly name: string;
}

export interface FunctionCallNode {
  readonly type: "functionCall";
  readonly at: number;
  readonly name: string;
  readonly args: readonly SyntaxNode[];
}

/** `new[] { a, b }` */
export interface ArrayNode {
  readonly type: "array";
  readonly at: number;
  readonly items: readonly SyntaxNode[];
}

/** `base.a?.b[c].D(e)`: a null in front of an optional link ends the whole chain with null. */
export interface ChainNode {
  readonly type: "chain";
  readonly at: number;
  readonly base: SyntaxNode;
  readonly links: readonly Link[];
}

export type Link = MemberLink | IndexLink | MethodLink;

interface LinkPlace {
  readonly at: number;
  readonly optional: boolean;
  /** Where the receiver's text ends; it begins with the chain. */
  readonly receiverEnd: number;
}

export interface MemberLink extends LinkPlace {
  readonly type: "member";
  readonly name: string;
}

export interface IndexLink extends LinkPlace {
  readonly type: "index";
  readonly index: SyntaxNode;
}

export interface MethodLink extends LinkPlace {
  readonly type: "method";
  readonly name: string;
  readonly args: readonly SyntaxNode[];
}

export interface PrefixNode {
  readonly type: "prefix";
  readonly at: number;
  readonly operator: "!" | "-" | "+";
  readonly operand: SyntaxNode;
}

export interface CastNode {
  readonly type: "cast";
  readonly at: number;
  readonly to: CastType;
  readonly operand: SyntaxNode;
}

export const castTypes = ["int", "long", "double", "float", "decimal", "string", "bool"] as const;
export type CastType = (typeof castTypes)[number];

/** `a && b && c`: the operators that may leave an operand unasked, loosest first. */
export const shortCircuitOperators = ["??", "||", "&&"] as const;
export type ShortCircuitOperator = (typeof shortCircuitOperators)[number];

export interface ShortCircuitNode {
  readonly type: "shortCircuit";
  readonly at: number;
  readonly operator: ShortCircuitOperator;
  readonly operands: readonly SyntaxNode[];
}

/** The others, all tighter than those: the rows of C#'s precedence table, loosest first. */
export const valueOperators = [
  ["|"],
  ["^"],
  ["&"],
  ["==", "!="],
  ["<", ">", "<=", ">="],
  ["+", "-"],
  ["*", "/", "%"],
] as const;
export type ValueOperator = (typeof valueOperators)[number][number];

/** `first op operand op operand …`, all of one row, from left to right. */
export interface OperationNode {
  readonly type: "operation";
  readonly at: number;
  readonly first: SyntaxNode;
  readonly rest: readonly OperationPart[];
}

export interface OperationPart {
  readonly at: number;
  readonly operator: ValueOperator;
  readonly operand: SyntaxNode;
}

export interface ConditionalNode {
  readonly type: "conditional";
  readonly at: number;
  readonly cases: readonly { readonly when: SyntaxNode; readonly value: SyntaxNode }[];
  readonly otherwise: SyntaxNode;
}
