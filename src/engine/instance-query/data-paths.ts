import type { Field } from "./field.ts";
import type { FilterNode } from "./filter.ts";
import type { InstanceQuery } from "./instance-query.ts";

/** Every path into the data that a list asks about: its answer tells something about each. */
export function dataPathsIn({ filter, sort, grouping }: InstanceQuery): (readonly string[])[] {
  const fields: (Field | undefined)[] = [
    ...sort.map(({ field }) => field),
    ...(grouping?.fields ?? []).map(({ field }) => field),
    ...(grouping?.aggregations ?? []).map(({ field }) => field),
  ];
  const named = fields.flatMap((field) => (field?.kind === "data" ? [field.path] : []));
  return filter === undefined ? named : [...named, ...pathsIn(filter)];
}

function pathsIn(node: FilterNode): (readonly string[])[] {
  switch (node.kind) {
    case "and":
    case "or":
      return node.nodes.flatMap(pathsIn);
    case "not":
      return pathsIn(node.node);
    case "data":
      return [node.path];
    case "column":
      return [];
  }
}
