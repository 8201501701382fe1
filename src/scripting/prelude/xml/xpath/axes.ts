/** Walking from a node along an axis, nearest first. */
import { following } from "../following.ts";
import type { XmlElement, XmlNode } from "../node.ts";
import { xmlnsNamespace } from "../names.ts";
import type { Axis } from "./syntax.ts";

/** Answers true to go no further. */
export type Visit = (node: XmlNode) => boolean;

export const isReverse = (axis: Axis): boolean =>
  axis === "ancestor" || axis === "ancestor-or-self" || axis === "preceding-sibling";

/** From a set in which no node holds another, these axes answer in document order again. */
export const keepsOrder = (axis: Axis): boolean =>
  axis === "child" || axis === "attribute" || axis === "self";

export const walk: Readonly<Record<Axis, (from: XmlNode, visit: Visit) => void>> = {
  self: (from, visit) => {
    visit(from);
  },
  parent: (from, visit) => {
    if (from.parent !== null) visit(from.parent);
  },
  child: (from, visit) => {
    for (let node = from.first; node !== null; node = node.next) if (visit(node)) return;
  },
  attribute: (from, visit) => {
    if (from.NodeType !== "Element") return;
    for (const attribute of (from as XmlElement).attributes) {
      // Declarations of namespaces are no attributes to XPath.
      if (attribute.namespace !== xmlnsNamespace && visit(attribute)) return;
    }
  },
  descendant: (from, visit) => {
    for (let node = following(from, from); node !== null; node = following(node, from)) {
      if (visit(node)) return;
    }
  },
  "descendant-or-self": (from, visit) => {
    if (!visit(from)) walk.descendant(from, visit);
  },
  ancestor: (from, visit) => {
    for (let node = from.parent; node !== null; node = node.parent) if (visit(node)) return;
  },
  "ancestor-or-self": (from, visit) => {
    if (!visit(from)) walk.ancestor(from, visit);
  },
  "following-sibling": (from, visit) => {
    if (from.NodeType === "Attribute") return;
    for (let node = from.next; node !== null; node = node.next) if (visit(node)) return;
  },
  "preceding-sibling": (from, visit) => {
    if (from.NodeType === "Attribute") return;
    for (let node = from.previous; node !== null; node = node.previous) if (visit(node)) return;
  },
};
