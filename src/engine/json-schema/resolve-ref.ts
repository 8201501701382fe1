/** Finds what a `$ref` means inside one document. Nothing outside it is ever fetched. */
import {
  isSchemaObject,
  resolveUri,
  type SchemaNode,
  type SchemaNodes,
  withoutFragment,
} from "./nodes.ts";

export type Resolved =
  | { readonly kind: "schema"; readonly schema: unknown }
  /** Another document: not fetched. */
  | { readonly kind: "elsewhere" }
  /** This document, but no schema stands there. */
  | { readonly kind: "nowhere" };

export function resolveRef(ref: string, from: SchemaNode, nodes: SchemaNodes): Resolved {
  const [address = "", fragment = ""] = ref.split("#", 2);
  const resource =
    address === "" ? from.resource : nodes.resource(withoutFragment(resolveUri(address, from.uri)));
  if (resource === undefined) return { kind: "elsewhere" };
  if (fragment === "") return { kind: "schema", schema: resource.schema };
  if (fragment.startsWith("/")) return followPointer(fragment, resource.schema);
  const anchored = nodes.anchor(fragment, resource);
  return anchored === undefined ? { kind: "nowhere" } : { kind: "schema", schema: anchored.schema };
}

function followPointer(fragment: string, root: unknown): Resolved {
  let reached: unknown = root;
  for (const raw of fragment.split("/").slice(1)) {
    const step = decode(raw).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(reached)) reached = reached[Number(step)];
    else if (isSchemaObject(reached) && Object.hasOwn(reached, step)) reached = reached[step];
    else return { kind: "nowhere" };
  }
  return isSchemaObject(reached) || typeof reached === "boolean"
    ? { kind: "schema", schema: reached }
    : { kind: "nowhere" };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
