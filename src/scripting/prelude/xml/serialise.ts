/**
 * Writes a tree as XML. Whatever a script has put together, what is written means the same: missing
 * namespace declarations are added, wrong ones are replaced.
 */
import { ArgumentException } from "../errors.ts";
import { escapeAttribute, escapeText, requireLegal } from "./characters.ts";
import { isDeclaration, xmlNamespace } from "./names.ts";
import type { XmlAttribute, XmlElement, XmlNode } from "./node.ts";
import { outermostScope, type Scope } from "./parse.ts";

export function outerXml(node: XmlNode): string {
  if (node.NodeType === "Document" || node.NodeType === "DocumentFragment") return innerXml(node);
  return requireLegal(written([node]));
}

export function innerXml(node: XmlNode): string {
  const children: XmlNode[] = [];
  for (let child = node.first; child !== null; child = child.next) children.push(child);
  return requireLegal(written(children));
}

interface Pending {
  readonly node: XmlNode | null;
  readonly scope: Scope;
  readonly end: string;
}

function written(nodes: readonly XmlNode[]): string {
  const parts: string[] = [];
  const pending: Pending[] = nodes
    .map((node) => ({ node, scope: outermostScope(), end: "" }))
    .toReversed();
  for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
    const { node, scope, end } = item;
    if (node === null) parts.push(end);
    else if (node.NodeType === "Element") startElement(node as XmlElement, scope, parts, pending);
    else parts.push(leaf(node));
  }
  return parts.join("");
}

function startElement(
  element: XmlElement,
  outer: Scope,
  parts: string[],
  pending: Pending[],
): void {
  const { name, attributes, scope } = startTag(element, outer, pending.length);
  const isEmpty = element.first === null && element.IsEmpty;
  parts.push(`<${name}${attributes}${isEmpty ? " />" : ">"}`);
  if (isEmpty) return;
  pending.push({ node: null, scope, end: `</${name}>` });
  for (let child = element.last; child !== null; child = child.previous) {
    pending.push({ node: child, scope, end: "" });
  }
}

function startTag(element: XmlElement, outer: Scope, depth: number) {
  // A prefix without a namespace cannot be written.
  const prefix = element.namespace === "" ? "" : element.prefix;
  const name = prefix === "" ? element.local : `${prefix}:${element.local}`;
  if (element.attributes.length === 0 && outer[prefix] === element.namespace) {
    return { name, attributes: "", scope: outer };
  }
  const scope = Object.create(outer) as Scope;
  const declared = new Map<string, string>();
  const declare = (declaredPrefix: string, namespace: string) => {
    scope[declaredPrefix] = namespace;
    declared.set(declaredPrefix, namespace);
  };

  for (const attribute of element.attributes) {
    if (!isDeclaration(attribute.prefix, attribute.local)) continue;
    const own = attribute.prefix === "" ? "" : attribute.local;
    if (own === "xml" || (own !== "" && attribute.value === "")) continue;
    declare(own, attribute.value);
  }
  if (scope[prefix] !== element.namespace) declare(prefix, element.namespace);
  const plain = element.attributes
    .filter((attribute) => !isDeclaration(attribute.prefix, attribute.local))
    .map((attribute) => {
      const own = attributePrefix(attribute, prefix, scope, declared, depth);
      const full = own === "" ? attribute.local : `${own}:${attribute.local}`;
      return ` ${full}="${escapeAttribute(attribute.value)}"`;
    });
  return { name, attributes: `${declarations(element, declared)}${plain.join("")}`, scope };
}

/** In the place and order the script gave them, then those that had to be added. */
function declarations(element: XmlElement, declared: ReadonlyMap<string, string>): string {
  const order = new Set<string>();
  for (const attribute of element.attributes) {
    if (isDeclaration(attribute.prefix, attribute.local)) {
      order.add(attribute.prefix === "" ? "" : attribute.local);
    }
  }
  for (const prefix of declared.keys()) order.add(prefix);
  return [...order]
    .filter((prefix) => declared.has(prefix))
    .map((prefix) => {
      const name = prefix === "" ? "xmlns" : `xmlns:${prefix}`;
      return ` ${name}="${escapeAttribute(declared.get(prefix) ?? "")}"`;
    })
    .join("");
}

function attributePrefix(
  attribute: XmlAttribute,
  elementPrefix: string,
  scope: Scope,
  declared: Map<string, string>,
  depth: number,
): string {
  const { prefix, namespace } = attribute;
  if (namespace === "") return "";
  if (namespace === xmlNamespace) return "xml";
  if (prefix !== "" && scope[prefix] === namespace) return prefix;
  if (prefix !== "" && prefix !== elementPrefix && !declared.has(prefix)) {
    scope[prefix] = namespace;
    declared.set(prefix, namespace);
    return prefix;
  }
  for (const known in scope) if (known !== "" && scope[known] === namespace) return known;
  let number = 1;
  while (scope[`d${depth}p${number}`] !== undefined) number += 1;
  const made = `d${depth}p${number}`;
  scope[made] = namespace;
  declared.set(made, namespace);
  return made;
}

function leaf(node: XmlNode): string {
  const value = node.Value ?? "";
  switch (node.NodeType) {
    case "Text":
      return escapeText(value);
    case "CDATA":
      return `<![CDATA[${value.replaceAll("]]>", "]]]]><![CDATA[>")}]]>`;
    case "Comment":
      if (value.includes("--") || value.endsWith("-")) {
        throw new ArgumentException(
          "An XML comment cannot contain '--', and '-' cannot be the last character.",
        );
      }
      return `<!--${value}-->`;
    case "ProcessingInstruction":
      if (value.includes("?>")) {
        throw new ArgumentException("'?>' cannot stand in a processing instruction.");
      }
      return `<?${node.Name}${value === "" ? "" : ` ${value}`}?>`;
    case "XmlDeclaration":
      return `<?xml ${value}?>`;
    case "Attribute":
      return `${node.Name}="${escapeAttribute(value)}"`;
    default:
      return "";
  }
}
