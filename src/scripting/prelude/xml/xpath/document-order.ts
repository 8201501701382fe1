/**
 * Document order by numbers: one walk gives every node its place, and it holds until the document
 * changes. Comparing two nodes by climbing would make sorting a long list quadratic.
 */
import { following } from "../following.ts";
import type { XmlElement, XmlNode } from "../node.ts";

export function inDocumentOrder(nodes: readonly XmlNode[]): XmlNode[] {
  const [first] = nodes;
  if (first === undefined || nodes.length === 1) return [...nodes];
  number(first);
  return [...new Set(nodes)].toSorted((a, b) => a.order - b.order);
}

function number(node: XmlNode): void {
  const root = rootOf(node);
  const document = root.NodeType === "Document" ? root : root.owner;
  const tracker = document as { ordered: XmlNode | null } | null;
  if (tracker?.ordered === root) return;
  let next = 0;
  for (let at: XmlNode | null = root; at !== null; at = following(at, root)) {
    at.order = next;
    next += 1;
    if (at.NodeType !== "Element") continue;
    for (const attribute of (at as XmlElement).attributes) {
      attribute.order = next;
      next += 1;
    }
  }
  if (tracker !== null) tracker.ordered = root;
}

export function rootOf(node: XmlNode): XmlNode {
  let root = node;
  while (root.parent !== null) root = root.parent;
  return root;
}
