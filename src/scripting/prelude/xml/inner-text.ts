import type { XmlNode } from "./node.ts";

/** Text and CDATA below the node, in order; the value of a node that has one. */
export function innerText(root: XmlNode): string {
  if (root.first === null) {
    const isContainer = ["Element", "Document", "DocumentFragment"].includes(root.NodeType);
    return isContainer ? "" : (root.Value ?? "");
  }
  // By far the most elements hold one text.
  if (root.first === root.last && isText(root.first)) return root.first.Value ?? "";
  const parts: string[] = [];
  let node: XmlNode | null = root.first;
  while (node !== null) {
    if (isText(node)) parts.push(node.Value ?? "");
    if (node.first !== null) {
      node = node.first;
      continue;
    }
    while (node !== null && node !== root && node.next === null) node = node.parent;
    node = node === null || node === root ? null : node.next;
  }
  return parts.join("");
}

const isText = (node: XmlNode): boolean => node.NodeType === "Text" || node.NodeType === "CDATA";
