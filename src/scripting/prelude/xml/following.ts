import type { XmlNode } from "./node.ts";

/** The node that follows in document order, inside `root`; attributes are not visited. */
export function following(node: XmlNode, root: XmlNode): XmlNode | null {
  if (node.first !== null) return node.first;
  for (let level: XmlNode | null = node; level !== null && level !== root; level = level.parent) {
    if (level.next !== null) return level.next;
  }
  return null;
}
