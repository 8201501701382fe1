/** A field that a query names: a column of the instance, or a path into its data. */
import { columnNames, findColumn, isLaterColumn, type Column } from "./columns.ts";
import { nearest } from "./operators.ts";
import { shown } from "./reasons.ts";

export type Field =
  | { readonly kind: "column"; readonly column: Column }
  | { readonly kind: "data"; readonly path: readonly string[] };

export const maxFieldLength = 100;
export const maxPathDepth = 10;
export const maxSegmentLength = 50;

const segmentPattern = /^[A-Za-z][A-Za-z0-9_]*$/;
const dataPrefix = /^attributes\./i;

/** Either what was found or why not, as a sentence. */
export type Found<T> = { readonly found: T } | { readonly mistake: string };

/**
 * Splits `address.city` into its segments. The rules are the wire contract's; they also are what
 * lets the storage build a JSON path from segments without any quoting.
 */
export function readPath(name: string, parent: readonly string[] = []): Found<readonly string[]> {
  const path = [...parent, ...name.split(".")];
  if (path.join(".").length > maxFieldLength) {
    return { mistake: `Field '${shown(name)}' is longer than ${maxFieldLength} characters.` };
  }
  if (path.length > maxPathDepth) {
    return { mistake: `Field '${shown(name)}' is more than ${maxPathDepth} levels deep.` };
  }
  for (const segment of path) {
    if (segment.length > maxSegmentLength) {
      return {
        mistake: `Segment '${shown(segment)}' is longer than ${maxSegmentLength} characters.`,
      };
    }
    if (!segmentPattern.test(segment)) {
      return {
        mistake: `'${shown(name)}' is not a field path. Each segment starts with a letter and holds letters, digits and '_'.`,
      };
    }
  }
  return { found: path };
}

/**
 * Reads a field name outside `attributes`: a column, `attributes.<path>`, or else a path into the
 * data. A dotted name is matched by its first segment, and a column has no members, so
 * `status.code` is refused instead of being read as `status` or as data that is not there.
 */
export function readField(name: string): Found<Field> {
  if (dataPrefix.test(name)) return dataField(readPath(name.replace(dataPrefix, "")));
  const column = findColumn(name);
  if (column !== undefined) return { found: { kind: "column", column } };
  if (isLaterColumn(name)) {
    return {
      mistake: `'${name}' is a column of a later release and not supported. For a data field of that name write 'attributes.${name}'.`,
    };
  }
  const first = name.split(".")[0] ?? "";
  if (first !== name && findColumn(first) !== undefined) {
    return {
      mistake: `'${first}' is an instance column and has no members. For a data field write 'attributes.${shown(name)}'.`,
    };
  }
  return dataField(readPath(name));
}

const dataField = (path: Found<readonly string[]>): Found<Field> =>
  "mistake" in path ? path : { found: { kind: "data", path: path.found } };

/** Reads a field name where data must be marked as such (`sort`): a bare unknown name is refused. */
export function readMarkedField(name: string): Found<Field> & { readonly unknown?: true } {
  if (dataPrefix.test(name)) return readField(name);
  const column = findColumn(name);
  if (column !== undefined) return { found: { kind: "column", column } };
  const near = nearest(name, columnNames);
  const hint =
    near === undefined
      ? `For a data field write 'attributes.${shown(name)}'.`
      : `Did you mean '${near}'?`;
  return { mistake: `'${shown(name)}' is not an instance column. ${hint}`, unknown: true };
}
