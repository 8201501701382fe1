/**
 * A filter that has been understood. Every name in it is a known column or a checked path and every
 * value has its column's type, so whoever carries it out has nothing left to refuse.
 *
 * A test is true or false, never unknown: a missing or null value fails every test but `isNull` and
 * the negated ones, and `not` is the exact complement.
 */
import type { Column } from "./columns.ts";
import type { Relation } from "./operators.ts";

export type FilterNode =
  | { readonly kind: "and" | "or"; readonly nodes: readonly FilterNode[] }
  | { readonly kind: "not"; readonly node: FilterNode }
  | { readonly kind: "column"; readonly column: Column; readonly test: ColumnTest }
  | { readonly kind: "data"; readonly path: readonly string[]; readonly test: DataTest };

/** `eq` and `in` are membership; `ne` and `nin` are its complement, so a missing value passes. */
interface Membership<Value> {
  readonly is: "oneOf";
  readonly negated: boolean;
  readonly values: readonly Value[];
}

interface Comparison<Value> {
  readonly is: "compared";
  readonly relation: Relation;
  readonly value: Value;
}

/** Case-insensitive; `%` and `_` are ordinary characters. */
interface TextMatch {
  readonly is: "text";
  readonly where: "anywhere" | "start" | "end";
  readonly text: string;
}

interface Nullness {
  readonly is: "null";
  readonly expected: boolean;
}

/** In the column's own terms: a status is its code, a state type its number, an instant has its offset. */
export type ColumnValue = string | number | boolean;
export type ColumnTest = Membership<ColumnValue> | Comparison<ColumnValue> | TextMatch | Nullness;

/** JSON text of one scalar: equality on data is typed, `"5"` and `5` differ. */
export type JsonScalarText = string;

/** Numbers are compared with numbers, instants with texts that hold an instant. */
export type Bound =
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "instant"; readonly text: string };

export type DataTest =
  | Membership<JsonScalarText>
  | Comparison<Bound>
  | TextMatch
  | Nullness
  /** The array at the path has an element that contains this object (JSON text). */
  | { readonly is: "including"; readonly object: string };
