/** A schema as its subschemas: where each stands, and which others it evaluates. */

import type { Dialect } from "./dialect.ts";

export type Step = string | number;
type SchemaObject = Readonly<Record<string, unknown>>;

export interface SchemaNode {
  readonly path: readonly Step[];
  readonly schema: SchemaObject;
  /** The resource (`$id`) the node belongs to: what `#` means inside it. */
  readonly resource: SchemaNode;
  readonly uri: string;
  /** Subschemas that look at the same value, as against those for its members. */
  readonly inPlace: SchemaNode[];
}

export interface SchemaNodes {
  readonly nodes: readonly SchemaNode[];
  /** The node of a subschema, by identity. */
  of(schema: unknown): SchemaNode | undefined;
  /** The node that opens the resource of this address (without fragment). */
  resource(uri: string): SchemaNode | undefined;
  /** The node of this name (`$anchor` and its like) in the resource. */
  anchor(name: string, resource: SchemaNode): SchemaNode | undefined;
  /** True when the walk stopped at a limit. */
  readonly tooLarge: boolean;
}

const one = ["not", "if", "then", "else"];
const oneOfMembers = [
  "additionalProperties",
  "additionalItems",
  "contains",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
  "contentSchema",
];
const many = ["allOf", "anyOf", "oneOf"];
const manyOfMembers = ["prefixItems"];
const named = ["dependentSchemas", "dependencies"];
const namedOfMembers = ["properties", "patternProperties", "$defs", "definitions"];

/** Without a base of its own a schema gets this one, so that relative `$id`s can be compared. */
export const unknownBase = "https://schema.invalid/";

/** Compiling 2000 subschemas takes about a second; real master schemas have some hundred. */
export const limits = { nodes: 2000, depth: 64 };

interface Child {
  readonly steps: readonly Step[];
  readonly schema: unknown;
  readonly inPlace: boolean;
}

export function schemaNodes(root: SchemaObject, dialect: Dialect): SchemaNodes {
  const idKeyword = dialect === "draft-04" ? "id" : "$id";
  const nodes: SchemaNode[] = [];
  const bySchema = new Map<unknown, SchemaNode>();
  const byUri = new Map<string, SchemaNode>();
  const byAnchor = new Map<SchemaNode, Map<string, SchemaNode>>();
  let tooLarge = false;

  function visit(schema: SchemaObject, path: readonly Step[], parent: SchemaNode | undefined) {
    if (nodes.length >= limits.nodes || path.length > 2 * limits.depth) {
      tooLarge = true;
      return undefined;
    }
    const node = makeNode(schema, path, parent, schema[idKeyword]);
    nodes.push(node);
    bySchema.set(schema, node);
    index(node);
    for (const child of childrenOf(schema)) {
      if (!isSchemaObject(child.schema)) continue;
      const made = visit(child.schema, [...path, ...child.steps], node);
      if (made !== undefined && child.inPlace) node.inPlace.push(made);
    }
    return node;
  }

  function index(node: SchemaNode) {
    if (node.resource === node) byUri.set(withoutFragment(node.uri), node);
    for (const name of anchorsOf(node.schema)) {
      const names = byAnchor.get(node.resource) ?? new Map<string, SchemaNode>();
      byAnchor.set(node.resource, names.set(name, node));
    }
  }

  visit(root, [], undefined);
  return {
    nodes,
    of: (schema) => bySchema.get(schema),
    resource: (uri) => byUri.get(uri),
    anchor: (name, resource) => byAnchor.get(resource)?.get(name),
    tooLarge,
  };
}

/** Drafts 4 to 7 write an anchor as an id that is only a fragment. */
function anchorsOf(schema: SchemaObject): string[] {
  const ids = [schema["$id"], schema["id"]].map((id) =>
    typeof id === "string" && id.startsWith("#") ? id.slice(1) : undefined,
  );
  const names = [schema["$anchor"], schema["$dynamicAnchor"], ...ids];
  return names.filter((name) => typeof name === "string");
}

export const withoutFragment = (uri: string): string => uri.split("#", 1)[0] ?? uri;

function makeNode(
  schema: SchemaObject,
  path: readonly Step[],
  parent: SchemaNode | undefined,
  id: unknown,
): SchemaNode {
  const parentUri = parent?.uri ?? unknownBase;
  // An `$id` that is only a fragment names a place (drafts 4 to 7), not a resource.
  const opensResource = typeof id === "string" && !id.startsWith("#");
  const uri = opensResource ? resolveUri(id, parentUri) : parentUri;
  const node: SchemaNode = {
    path,
    schema,
    uri,
    inPlace: [],
    get resource() {
      return parent === undefined || opensResource ? node : parent.resource;
    },
  };
  return node;
}

function* childrenOf(schema: SchemaObject): Generator<Child> {
  for (const keyword of one) yield { steps: [keyword], schema: schema[keyword], inPlace: true };
  for (const keyword of oneOfMembers) {
    yield { steps: [keyword], schema: schema[keyword], inPlace: false };
  }
  for (const keyword of many) yield* listed(schema, keyword, true);
  for (const keyword of manyOfMembers) yield* listed(schema, keyword, false);
  if (Array.isArray(schema["items"])) yield* listed(schema, "items", false);
  else yield { steps: ["items"], schema: schema["items"], inPlace: false };
  for (const keyword of named) yield* entered(schema, keyword, true);
  for (const keyword of namedOfMembers) yield* entered(schema, keyword, false);
}

function* listed(schema: SchemaObject, keyword: string, inPlace: boolean): Generator<Child> {
  const list = schema[keyword];
  if (!Array.isArray(list)) return;
  for (const [i, item] of list.entries()) yield { steps: [keyword, i], schema: item, inPlace };
}

function* entered(schema: SchemaObject, keyword: string, inPlace: boolean): Generator<Child> {
  const map = schema[keyword];
  if (!isSchemaObject(map)) return;
  for (const [name, item] of Object.entries(map)) {
    yield { steps: [keyword, name], schema: item, inPlace };
  }
}

export const isSchemaObject = (value: unknown): value is SchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function resolveUri(reference: string, base: string): string {
  try {
    return new URL(reference, base).href;
  } catch {
    return reference;
  }
}
