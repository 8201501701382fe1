/** What the compiling functions share: the shape of their result, and the way back to each other. */
import type { Evaluation } from "./evaluation.ts";
import type { ExpressionError } from "./expression-error.ts";
import type { View } from "./expression-context.ts";
import type { Kind } from "./kinds.ts";
import type { SyntaxNode } from "./syntax-tree.ts";

export type Step = (run: Evaluation) => unknown;

export interface Compiled {
  readonly step: Step;
  readonly kind: Kind;
  /** Set for `context` and its parts, which are not JSON: only their listed members are. */
  readonly view?: View;
}

export interface Compiler {
  readonly source: string;
  /** Whether `sha256` and `varyKey` are there. */
  readonly keyFunctions: boolean;
  /** Any node, `context` and its parts included. */
  readonly node: (node: SyntaxNode) => Compiled;
  /** A node whose value is used: not `context` itself, nor a part of it. */
  readonly value: (node: SyntaxNode) => Compiled;
  readonly refusal: (at: number, sentence: string) => ExpressionError;
}

export const listed = (names: Iterable<string>): string => [...names].join(", ");
