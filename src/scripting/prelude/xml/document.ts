import { InvalidOperationException } from "../errors.ts";
import { textFrom } from "../text.ts";
import { requireName, xmlNamespace } from "./names.ts";
import {
  childrenOf,
  copyTree,
  createAttribute,
  elementsByTagName,
  XmlAttribute,
  XmlCDataSection,
  XmlComment,
  XmlDeclaration,
  XmlDocumentFragment,
  XmlElement,
  type XmlNode,
  type XmlNodeType,
  XmlParentNode,
  XmlProcessingInstruction,
  XmlText,
} from "./node.ts";
import { nodeList, type XmlNodeList } from "./node-list.ts";
import { outermostScope, parse, type Scope, type XmlBuilder } from "./parse.ts";

export class XmlDocument extends XmlParentNode {
  /** Keeps text that is nothing but white space; set it before `LoadXml`. */
  PreserveWhitespace = false;
  /** @internal The root whose nodes are numbered; null once something has changed. */
  ordered: XmlNode | null = null;

  constructor() {
    super(null);
  }

  get NodeType(): XmlNodeType {
    return "Document";
  }
  get Name(): string {
    return "#document";
  }
  get DocumentElement(): XmlElement | null {
    return childrenOf(this).find((child) => child instanceof XmlElement) ?? null;
  }
  /** For `new XmlNamespaceManager(doc.NameTable)`. */
  get NameTable(): null {
    return null;
  }

  /** Throws XmlException for what is not well-formed; the document is empty then. */
  LoadXml(xml: string): void {
    this.removeChildren();
    const builder = new TreeBuilder(this, this);
    try {
      parse(textFrom(xml), builder);
    } catch (error) {
      this.removeChildren();
      throw error;
    }
  }

  override get InnerText(): string {
    return super.InnerText;
  }
  override set InnerText(_text: string) {
    throw new InvalidOperationException("The InnerText of a document cannot be set.");
  }
  override get InnerXml(): string {
    return super.InnerXml;
  }
  override set InnerXml(xml: string) {
    this.LoadXml(xml);
  }

  /** `CreateElement(name, namespace?)` or `CreateElement(prefix, localName, namespace)`. */
  CreateElement(name: string, namespaceURI?: string | null): XmlElement;
  CreateElement(prefix: string, localName: string, namespaceURI: string): XmlElement;
  CreateElement(...args: [string, (string | null)?, string?]): XmlElement {
    const { name, namespace } = readNameArguments(args);
    const { prefix, local } = requireName(name);
    return new XmlElement(this, prefix, local, namespace ?? "");
  }

  CreateAttribute(name: string, namespaceURI?: string | null): XmlAttribute;
  CreateAttribute(prefix: string, localName: string, namespaceURI: string): XmlAttribute;
  CreateAttribute(...args: [string, (string | null)?, string?]): XmlAttribute {
    const { name, namespace } = readNameArguments(args);
    return createAttribute(this, name, namespace, outermostScope());
  }

  CreateTextNode(text: string): XmlText {
    return new XmlText(this, textFrom(text));
  }
  CreateCDataSection(data: string): XmlCDataSection {
    return new XmlCDataSection(this, textFrom(data));
  }
  CreateComment(data: string): XmlComment {
    return new XmlComment(this, textFrom(data));
  }
  CreateProcessingInstruction(target: string, data: string): XmlProcessingInstruction {
    requireName(target);
    return new XmlProcessingInstruction(this, target, textFrom(data));
  }
  CreateXmlDeclaration(
    version: string,
    encoding?: string | null,
    standalone?: string | null,
  ): XmlDeclaration {
    return new XmlDeclaration(this, version, encoding ?? "", standalone ?? "");
  }
  CreateDocumentFragment(): XmlDocumentFragment {
    return new XmlDocumentFragment(this);
  }

  /** A copy of another document's node that may be inserted here. */
  ImportNode(node: XmlNode, deep: boolean): XmlNode {
    return copyTree(node, this, deep);
  }

  /** By name as written or by local name; `*` is every element. Two arguments: local name, namespace. */
  GetElementsByTagName(name: string, namespaceURI?: string): XmlNodeList<XmlElement> {
    return nodeList(elementsByTagName(this, name, namespaceURI));
  }

  override CloneNode(deep: boolean): XmlDocument {
    const copy = this.copy();
    if (deep) {
      for (const child of childrenOf(this)) copy.AppendChild(copyTree(child, copy, true));
    }
    return copy;
  }

  /** @internal */
  override accept(child: XmlNode): void {
    super.accept(child);
    if (child.NodeType === "Text" || child.NodeType === "CDATA") {
      throw new InvalidOperationException("Text cannot stand at the root of a document.");
    }
    const root = this.DocumentElement;
    if (child.NodeType === "Element" && root !== null && root !== child) {
      throw new InvalidOperationException("This document already has a 'DocumentElement' node.");
    }
  }

  /** @internal */
  override document(): XmlDocument {
    return this;
  }

  /** @internal */
  parseFragment(xml: string, scope: Scope): XmlNode[] {
    const holder = new XmlDocumentFragment(this);
    parse(xml, new TreeBuilder(this, holder), { fragmentIn: scope });
    return childrenOf(holder);
  }

  /** @internal */
  copy(): XmlDocument {
    const copy = new XmlDocument();
    copy.PreserveWhitespace = this.PreserveWhitespace;
    return copy;
  }
}

class TreeBuilder implements XmlBuilder {
  readonly #document: XmlDocument;
  #parent: XmlParentNode;

  constructor(document: XmlDocument, parent: XmlParentNode) {
    this.#document = document;
    this.#parent = parent;
  }

  declaration(version: string, encoding: string, standalone: string): void {
    this.#add(new XmlDeclaration(this.#document, version, encoding, standalone));
  }

  startElement(...[name, namespace, attributes, isEmpty]: Parameters<XmlBuilder["startElement"]>) {
    const element = new XmlElement(this.#document, name.prefix, name.local, namespace);
    if (attributes.length > 0) {
      element.attributes = attributes.map(({ prefix, local, namespace: own, value }) => {
        const attribute = new XmlAttribute(this.#document, prefix, local, own, value);
        attribute.parent = element;
        return attribute;
      });
    }
    this.#add(element);
    element.IsEmpty = isEmpty;
    this.#parent = element;
  }

  endElement(): void {
    this.#parent = this.#parent.parent as XmlParentNode;
  }

  text(data: string, isBlank: boolean): void {
    if (isBlank && !this.#document.PreserveWhitespace && !keepsSpace(this.#parent)) return;
    this.#add(new XmlText(this.#document, data));
  }

  cdata(data: string): void {
    this.#add(new XmlCDataSection(this.#document, data));
  }

  comment(data: string): void {
    this.#add(new XmlComment(this.#document, data));
  }

  instruction(target: string, data: string): void {
    this.#add(new XmlProcessingInstruction(this.#document, target, data));
  }

  /** As `link` does, without telling anybody: the tree is new, and most of the time goes here. */
  #add(node: XmlNode): void {
    const parent = this.#parent;
    const previous = parent.lastChild;
    node.parent = parent;
    node.previous = previous;
    if (previous === null) parent.firstChild = node;
    else previous.next = node;
    parent.lastChild = node;
  }
}

/** `xml:space` of the nearest element that has one. */
function keepsSpace(node: XmlNode): boolean {
  for (let level: XmlNode | null = node; level !== null; level = level.parent) {
    if (!(level instanceof XmlElement) || level.attributes.length === 0) continue;
    const space = level.GetAttributeNode("space", xmlNamespace);
    if (space !== null) return space.value === "preserve";
  }
  return false;
}

function readNameArguments([first, second, third]: [string, (string | null)?, string?]) {
  if (third === undefined) return { name: first, namespace: second ?? undefined };
  return { name: first ? `${first}:${second}` : String(second), namespace: third };
}
