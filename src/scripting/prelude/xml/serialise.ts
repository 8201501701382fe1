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
  const parts: string[] = [];
  write(node, parts);
  return requireLegal(parts.join(""));
}

export function innerXml(node: XmlNode): string {
  const parts: string[] = [];
  for (let child = node.first; child !== null; child = child.next) write(child, parts);
  return requireLegal(parts.join(""));
}

function write(root: XmlNode, parts: string[]): void {
  const ends: string[] = [];
  const scopes: Scope[] = [outermostScope()];
  let node = root;
  for (;;) {
    if (node.NodeType === "Element") {
      const element = node as XmlElement;
      const tag = startTag(element, scopes[ends.length]!, ends.length);
      if (element.first !== null) {
        parts.push(`<${tag.name}${tag.attributes}>`);
        ends.push(`</${tag.name}>`);
        scopes[ends.length] = tag.scope;
        node = element.first;
        continue;
      }
      parts.push(`<${tag.name}${tag.attributes}${element.IsEmpty ? " />" : `></${tag.name}>`}`);
    } else {
      parts.push(leaf(node));
    }
    while (node !== root && node.next === null) {
      node = node.parent!;
      parts.push(ends.pop()!);
    }
    if (node === root) return;
    node = node.next!;
  }
}

interface StartTag {
  readonly name: string;
  readonly attributes: string;
  readonly scope: Scope;
}

function startTag(element: XmlElement, outer: Scope, depth: number): StartTag {
  // A prefix without a namespace cannot be written.
  const prefix = element.namespace === "" ? "" : element.prefix;
  const name = prefix === "" ? element.local : `${prefix}:${element.local}`;
  const { attributes } = element;
  if (outer[prefix] === element.namespace && attributes.every((one) => isAtHome(one, outer))) {
    let text = "";
    for (const one of attributes) text += ` ${one.Name}="${escapeAttribute(one.value)}"`;
    return { name, attributes: text, scope: outer };
  }
  return declaringTag(element, prefix, name, outer, depth);
}

/** Can be written as it stands, with nothing declared. */
const isAtHome = ({ prefix, local, namespace }: XmlAttribute, scope: Scope): boolean =>
  prefix === "" ? namespace === "" && local !== "xmlns" : scope[prefix] === namespace;

function declaringTag(
  element: XmlElement,
  prefix: string,
  name: string,
  outer: Scope,
  depth: number,
): StartTag {
  const scope = Object.create(outer) as Scope;
  const declared = new Map<string, string>();
  for (const attribute of element.attributes) {
    if (!isDeclaration(attribute.prefix, attribute.local)) continue;
    const own = attribute.prefix === "" ? "" : attribute.local;
    if (own === "xml" || (own !== "" && attribute.value === "")) continue;
    scope[own] = attribute.value;
    declared.set(own, attribute.value);
  }
  if (scope[prefix] !== element.namespace) {
    scope[prefix] = element.namespace;
    declared.set(prefix, element.namespace);
  }
  const plain = element.attributes
    .filter((attribute) => !isDeclaration(attribute.prefix, attribute.local))
    .map((attribute) => {
      const own = attributePrefix(attribute, prefix, scope, declared, depth);
      const full = own === "" ? attribute.local : `${own}:${attribute.local}`;
      return ` ${full}="${escapeAttribute(attribute.value)}"`;
    });
  const declarations = [...declared].map(([own, namespace]) => {
    const full = own === "" ? "xmlns" : `xmlns:${own}`;
    return ` ${full}="${escapeAttribute(namespace)}"`;
  });
  return { name, attributes: [...declarations, ...plain].join(""), scope };
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
