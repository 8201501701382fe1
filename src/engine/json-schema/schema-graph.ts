/** A schema as a graph: from the subschemas that look at a value to those that look at its members. */
import { dialectOf } from "./dialect.ts";
import { isSchemaObject, schemaNodes, type SchemaNode } from "./nodes.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import { resolveRef } from "./resolve-ref.ts";

export interface SchemaGraph {
  readonly root: SchemaNode;
  readonly nodes: readonly SchemaNode[];
  idOf(node: SchemaNode): number;
  nodeOf(schema: unknown): SchemaNode | undefined;
  /** The nodes and all that look at the same value: references, branches, conditions. */
  together(nodes: readonly SchemaNode[]): SchemaNode[];
  /** The same, and those for the items of lists. */
  withItems(nodes: readonly SchemaNode[]): SchemaNode[];
  below(nodes: readonly SchemaNode[]): SchemaNode[];
  /** The nodes from which one can get to one of the ends, and the ends. */
  leadingTo(ends: readonly SchemaNode[]): ReadonlySet<SchemaNode>;
  members(node: SchemaNode, name: string): SchemaNode[];
  items(node: SchemaNode, index: number): SchemaNode[];
  /** How many first items have a subschema of their own. */
  positions(node: SchemaNode): number;
}

export function schemaGraph(schema: Readonly<Record<string, unknown>>): SchemaGraph {
  const all = schemaNodes(schema, dialectOf(schema["$schema"]).dialect);
  const root = all.nodes[0]!;
  const ids = new Map(all.nodes.map((node, i) => [node, i]));
  const nodesOf = (...schemas: readonly unknown[]) =>
    schemas.flatMap((found) => all.of(found) ?? []);

  const inPlace = (node: SchemaNode): SchemaNode[] => [
    ...node.inPlace,
    ...refKeywords.flatMap((keyword) => {
      const ref = node.schema[keyword];
      if (typeof ref !== "string") return [];
      const found = resolveRef(ref, node, all);
      return found.kind === "schema" ? nodesOf(found.schema) : [];
    }),
  ];
  const patterns = new Map(
    all.nodes.map((node) => [
      node,
      entriesOf(node.schema["patternProperties"]).map(([source, found]): [Pattern, unknown] => [
        compilePattern(source),
        found,
      ]),
    ]),
  );
  const patternsOf = (node: SchemaNode) => patterns.get(node) ?? [];
  const members = (node: SchemaNode, name: string): SchemaNode[] => {
    const properties = node.schema["properties"];
    const own =
      isSchemaObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [];
    const matching = patternsOf(node).filter(([pattern]) => pattern.test(name));
    const named = [...own, ...matching.map(([, found]) => found)];
    const rest = [node.schema["additionalProperties"], node.schema["unevaluatedProperties"]];
    return nodesOf(...(named.length > 0 ? named : rest));
  };
  const allItems = (node: SchemaNode): SchemaNode[] =>
    nodesOf(...itemKeywords.flatMap((keyword) => node.schema[keyword]));
  const items = (node: SchemaNode, index: number): SchemaNode[] => {
    const { items: rest, contains, additionalItems, unevaluatedItems } = node.schema;
    const first = firstItems(node);
    const found =
      index < first.length ? first[index] : Array.isArray(rest) ? additionalItems : rest;
    return nodesOf(found, contains, unevaluatedItems);
  };
  const inside = (node: SchemaNode): SchemaNode[] => [
    ...nodesOf(
      ...memberKeywords.flatMap((keyword) => entriesOf(node.schema[keyword]).map(([, s]) => s)),
      node.schema["additionalProperties"],
      node.schema["unevaluatedProperties"],
    ),
    ...allItems(node),
  ];

  const deeper = (node: SchemaNode) => [...inPlace(node), ...inside(node)];
  return {
    root,
    nodes: all.nodes,
    idOf: (node) => ids.get(node)!,
    nodeOf: (found) => all.of(found),
    together: (nodes) => closure(nodes, inPlace),
    withItems: (nodes) => closure(nodes, (node) => [...inPlace(node), ...allItems(node)]),
    below: (nodes) => closure(nodes, deeper),
    leadingTo: (ends) => leadingTo(ends, all.nodes, deeper),
    members,
    items,
    positions: (node) => firstItems(node).length,
  };
}

function firstItems({ schema }: SchemaNode): readonly unknown[] {
  const { prefixItems, items } = schema;
  return Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
}

const refKeywords = ["$ref", "$dynamicRef", "$recursiveRef"];
const memberKeywords = ["properties", "patternProperties"];
const itemKeywords = ["items", "prefixItems", "contains", "additionalItems", "unevaluatedItems"];

const entriesOf = (map: unknown): [string, unknown][] =>
  isSchemaObject(map) ? Object.entries(map) : [];

function closure(
  start: readonly SchemaNode[],
  next: (node: SchemaNode) => readonly SchemaNode[],
): SchemaNode[] {
  const reached = new Set(start);
  // A set visits what is added to it on the way.
  for (const node of reached) for (const further of next(node)) reached.add(further);
  return [...reached];
}

function leadingTo(
  ends: readonly SchemaNode[],
  nodes: readonly SchemaNode[],
  next: (node: SchemaNode) => readonly SchemaNode[],
): Set<SchemaNode> {
  const before = new Map<SchemaNode, SchemaNode[]>();
  for (const node of nodes) {
    for (const further of next(node)) {
      before.set(further, [...(before.get(further) ?? []), node]);
    }
  }
  return new Set(closure(ends, (node) => before.get(node) ?? []));
}
