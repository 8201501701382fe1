/**
 * The tree: `XmlDocument` and its relatives as .NET has them, as far as work with SOAP needs.
 *
 * Siblings are linked, so that walking and changing cost the same in a long list as in a short one;
 * `ChildNodes` is made when asked for. Nothing recurses: a tree may be deeper than the stack.
 * Members in lower case are for this folder.
 */
import type { Dynamic } from "../dynamic.ts";
import { ArgumentException, ArgumentNullException, InvalidOperationException } from "../errors.ts";
import { textFrom } from "../text.ts";
import type { XmlDocument } from "./document.ts";
import { isDeclaration, requireName, xmlNamespace, xmlnsNamespace } from "./names.ts";
import type { NamespaceMap } from "./namespaces.ts";
import { nodeList, type XmlNodeList } from "./node-list.ts";
import { innerXml, outerXml } from "./serialise.ts";
import { innerText } from "./inner-text.ts";
import { type Scope, outermostScope } from "./parse.ts";
import { following } from "./following.ts";
import { evaluateXPath, selectNodes, type XPathResult } from "./xpath/select.ts";

export { XmlNodeList } from "./node-list.ts";

export type XmlNodeType =
  | "Element"
  | "Attribute"
  | "Text"
  | "CDATA"
  | "Comment"
  | "ProcessingInstruction"
  | "XmlDeclaration"
  | "Document"
  | "DocumentFragment";

/** Members are declared and assigned: in the sandbox's engine an initialiser is a call of its own. */
export abstract class XmlNode {
  /** @internal */
  declare owner: XmlDocument | null;
  /** @internal */
  declare parent: XmlNode | null;
  /** @internal */
  declare previous: XmlNode | null;
  /** @internal */
  declare next: XmlNode | null;
  /** @internal The place in document order, while the document's `ordered` says it is valid. */
  declare order: number;

  /** @internal */
  constructor(owner: XmlDocument | null) {
    this.owner = owner;
    this.parent = null;
    this.previous = null;
    this.next = null;
    this.order = 0;
  }

  abstract get NodeType(): XmlNodeType;
  abstract get Name(): string;

  /** @internal */
  get first(): XmlNode | null {
    return null;
  }
  /** @internal */
  get last(): XmlNode | null {
    return null;
  }

  get LocalName(): string {
    return this.Name;
  }
  get Prefix(): string {
    return "";
  }
  get NamespaceURI(): string {
    return "";
  }
  get Value(): string | null {
    return null;
  }
  set Value(_value: string | null) {
    throw new InvalidOperationException(`Cannot set a value on node type '${this.NodeType}'.`);
  }

  get OwnerDocument(): XmlDocument | null {
    return this.owner;
  }
  get ParentNode(): XmlNode | null {
    return this.parent;
  }
  get ChildNodes(): XmlNodeList<XmlNode> {
    return nodeList(childrenOf(this));
  }
  get HasChildNodes(): boolean {
    return this.first !== null;
  }
  get FirstChild(): XmlNode | null {
    return this.first;
  }
  get LastChild(): XmlNode | null {
    return this.last;
  }
  get NextSibling(): XmlNode | null {
    return this.next;
  }
  get PreviousSibling(): XmlNode | null {
    return this.previous;
  }
  get Attributes(): XmlAttributeCollection | null {
    return null;
  }

  get OuterXml(): string {
    return outerXml(this);
  }
  get InnerXml(): string {
    return innerXml(this);
  }
  set InnerXml(_xml: string) {
    throw new InvalidOperationException(`Cannot set InnerXml on node type '${this.NodeType}'.`);
  }
  /** The text of the node and everything below, without markup and comments. */
  get InnerText(): string {
    return innerText(this);
  }
  set InnerText(text: string) {
    this.Value = text;
  }

  /** The first node that the XPath expression finds, in document order. */
  SelectSingleNode(xpath: string, namespaces?: NamespaceMap | null): Dynamic {
    return selectNodes(this, xpath, namespaces)[0] ?? null;
  }

  /** Never null; `Count` is 0 when nothing was found. */
  SelectNodes(xpath: string, namespaces?: NamespaceMap | null): XmlNodeList<Dynamic> {
    return nodeList(selectNodes(this, xpath, namespaces));
  }

  /** Any expression, also one that answers a number, a text or a truth value. */
  Evaluate(xpath: string, namespaces?: NamespaceMap | null): XPathResult {
    return evaluateXPath(this, xpath, namespaces);
  }

  AppendChild(child: XmlNode): XmlNode {
    return this.InsertBefore(child, null);
  }
  PrependChild(child: XmlNode): XmlNode {
    return this.InsertBefore(child, this.first);
  }
  InsertAfter(child: XmlNode, reference: XmlNode | null): XmlNode {
    return this.InsertBefore(child, reference === null ? this.first : reference.next);
  }
  InsertBefore(_child: XmlNode, _reference: XmlNode | null): XmlNode {
    throw new InvalidOperationException("The current node cannot contain other nodes.");
  }
  RemoveChild(_child: XmlNode): XmlNode {
    throw new ArgumentException("The node to be removed is not a child of this node.");
  }
  ReplaceChild(child: XmlNode, old: XmlNode): XmlNode {
    this.InsertBefore(child, old);
    return this.RemoveChild(old);
  }
  /** Children and attributes. */
  RemoveAll(): void {
    this.removeChildren();
  }
  /** @internal */
  removeChildren(): void {
    for (const child of childrenOf(this)) this.RemoveChild(child);
  }

  /** A copy that belongs to no parent. */
  CloneNode(deep: boolean): XmlNode {
    return copyTree(this, this.owner, deep);
  }

  GetNamespaceOfPrefix(prefix: string): string {
    return scopeOf(this)[prefix] ?? "";
  }
  GetPrefixOfNamespace(namespaceURI: string): string {
    const scope = scopeOf(this);
    for (const prefix in scope) if (scope[prefix] === namespaceURI) return prefix;
    return "";
  }

  toString(): string {
    return this.OuterXml;
  }

  /** XML in JSON is its text. */
  toJSON(): string {
    return this.OuterXml;
  }

  /** @internal A copy of this node alone. */
  abstract copy(owner: XmlDocument | null): XmlNode;
}

/** A node that holds others. */
export abstract class XmlParentNode extends XmlNode {
  /** @internal */
  declare firstChild: XmlNode | null;
  /** @internal */
  declare lastChild: XmlNode | null;

  /** @internal */
  constructor(owner: XmlDocument | null) {
    super(owner);
    this.firstChild = null;
    this.lastChild = null;
  }

  /** @internal */
  override get first(): XmlNode | null {
    return this.firstChild;
  }
  /** @internal */
  override get last(): XmlNode | null {
    return this.lastChild;
  }

  /** Null inserts at the end. A fragment is replaced by what it holds. */
  override InsertBefore(child: XmlNode, reference: XmlNode | null): XmlNode {
    if (!(child instanceof XmlNode)) throw new ArgumentNullException("newChild");
    if (reference !== null && reference.parent !== this) {
      throw new ArgumentException("The reference node is not a child of this node.");
    }
    if (child === reference) return child;
    if (child.NodeType === "DocumentFragment") {
      for (const part of childrenOf(child)) this.InsertBefore(part, reference);
      return child;
    }
    this.accept(child);
    child.parent?.RemoveChild(child);
    this.link(child, reference);
    return child;
  }

  override RemoveChild(child: XmlNode): XmlNode {
    if (child?.parent !== this) {
      throw new ArgumentException("The node to be removed is not a child of this node.");
    }
    if (child.previous === null) this.firstChild = child.next;
    else child.previous.next = child.next;
    if (child.next === null) this.lastChild = child.previous;
    else child.next.previous = child.previous;
    child.parent = null;
    child.previous = null;
    child.next = null;
    this.changed();
    return child;
  }

  /** @internal Whether the child may stand here; throws when not. */
  accept(child: XmlNode): void {
    if (child.owner !== this.document()) {
      throw new ArgumentException(
        "The node to be inserted is from a different document context. Use ImportNode.",
      );
    }
    if (child.NodeType === "Attribute" || child.NodeType === "Document") {
      throw new InvalidOperationException(
        "The specified node cannot be inserted as the valid child of this node, because the specified node is the wrong type.",
      );
    }
    if (isInside(this, child)) {
      throw new ArgumentException(
        "Cannot insert a node or any ancestor of that node as a child of itself.",
      );
    }
  }

  /** @internal Puts a node without a parent in its place; nothing is checked. */
  link(child: XmlNode, reference: XmlNode | null): void {
    const previous = reference === null ? this.lastChild : reference.previous;
    child.parent = this;
    child.previous = previous;
    child.next = reference;
    if (previous === null) this.firstChild = child;
    else previous.next = child;
    if (reference === null) this.lastChild = child;
    else reference.previous = child;
    this.changed();
  }

  /** @internal */
  changed(): void {
    const document = this.document();
    if (document !== null) document.ordered = null;
  }

  /** @internal */
  document(): XmlDocument | null {
    return this.owner;
  }

  override get InnerXml(): string {
    return innerXml(this);
  }
  override set InnerXml(xml: string) {
    const scope = scopeOf(this);
    const fragment = this.document()?.parseFragment(textFrom(xml), scope) ?? [];
    this.removeChildren();
    for (const node of fragment) this.AppendChild(node);
  }
}

export class XmlElement extends XmlParentNode {
  /** @internal */
  declare prefix: string;
  /** @internal */
  declare readonly local: string;
  /** @internal */
  declare namespace: string;
  /** @internal Replaced, never changed: elements without attributes share one list. */
  declare attributes: readonly XmlAttribute[];
  /** Written as `<a />` rather than `<a></a>` when there is nothing inside. */
  declare IsEmpty: boolean;

  /** @internal */
  constructor(owner: XmlDocument | null, prefix: string, local: string, namespace: string) {
    super(owner);
    this.prefix = prefix;
    this.local = local;
    this.namespace = namespace;
    this.attributes = noAttributes;
    this.IsEmpty = true;
  }

  get NodeType(): XmlNodeType {
    return "Element";
  }
  get Name(): string {
    return this.prefix === "" ? this.local : `${this.prefix}:${this.local}`;
  }
  override get LocalName(): string {
    return this.local;
  }
  override get Prefix(): string {
    return this.prefix;
  }
  override set Prefix(prefix: string) {
    this.prefix = prefix;
  }
  override get NamespaceURI(): string {
    return this.namespace;
  }

  override get InnerText(): string {
    return innerText(this);
  }
  override set InnerText(text: string) {
    this.removeChildren();
    this.IsEmpty = false;
    const content = textFrom(text);
    if (content !== "") this.AppendChild(new XmlText(this.owner, content));
  }

  override link(child: XmlNode, reference: XmlNode | null): void {
    this.IsEmpty = false;
    super.link(child, reference);
  }

  /** The collection as it is now: by name, by position, and with `GetNamedItem`. */
  override get Attributes(): XmlAttributeCollection {
    return new XmlAttributeCollection(this);
  }
  get HasAttributes(): boolean {
    return this.attributes.length > 0;
  }

  /** An empty text when there is none. `GetAttribute(localName, namespace)` knows namespaces. */
  GetAttribute(name: string, namespaceURI?: string): string {
    return this.GetAttributeNode(name, namespaceURI)?.value ?? "";
  }
  HasAttribute(name: string, namespaceURI?: string): boolean {
    return this.GetAttributeNode(name, namespaceURI) !== null;
  }
  GetAttributeNode(name: string, namespaceURI?: string): XmlAttribute | null {
    return this.attributes.find((attribute) => isNamed(attribute, name, namespaceURI)) ?? null;
  }

  /** Creates the attribute, or changes it. With three arguments the second is the namespace. */
  SetAttribute(name: string, value: string | null): string;
  SetAttribute(localName: string, namespaceURI: string | null, value: string | null): string;
  SetAttribute(name: string, ...rest: [string | null] | [string | null, string | null]): string {
    const namespace = rest.length === 2 ? (rest[0] ?? "") : undefined;
    const value = textFrom(rest.at(-1));
    const known = this.GetAttributeNode(name, namespace);
    if (known !== null) known.Value = value;
    else this.SetAttributeNode(createAttribute(this.owner, name, namespace, scopeOf(this), value));
    return value;
  }

  SetAttributeNode(attribute: XmlAttribute): XmlAttribute | null {
    if (attribute.OwnerElement !== null && attribute.OwnerElement !== this) {
      throw new InvalidOperationException("The attribute belongs to another element already.");
    }
    const old = this.GetAttributeNode(attribute.LocalName, attribute.NamespaceURI);
    if (old !== null) this.RemoveAttributeNode(old);
    attribute.parent = this;
    this.attributes = [...this.attributes, attribute];
    this.changed();
    return old;
  }

  RemoveAttribute(name: string, namespaceURI?: string): void {
    const known = this.GetAttributeNode(name, namespaceURI);
    if (known !== null) this.RemoveAttributeNode(known);
  }

  RemoveAttributeNode(attribute: XmlAttribute): XmlAttribute {
    this.attributes = this.attributes.filter((known) => known !== attribute);
    attribute.parent = null;
    this.changed();
    return attribute;
  }

  RemoveAllAttributes(): void {
    for (const attribute of this.attributes) attribute.parent = null;
    this.attributes = noAttributes;
    this.changed();
  }

  override RemoveAll(): void {
    super.RemoveAll();
    this.RemoveAllAttributes();
  }

  /** By name as written or by local name; `*` is every element. Two arguments: local name, namespace. */
  GetElementsByTagName(name: string, namespaceURI?: string): XmlNodeList<XmlElement> {
    return nodeList(elementsByTagName(this, name, namespaceURI));
  }

  /** @internal */
  copy(owner: XmlDocument | null): XmlElement {
    const copy = new XmlElement(owner, this.prefix, this.local, this.namespace);
    copy.IsEmpty = this.IsEmpty;
    copy.attributes = this.attributes.map((attribute) => {
      const own = attribute.copy(owner);
      own.parent = copy;
      return own;
    });
    return copy;
  }
}

const noAttributes: readonly XmlAttribute[] = [];

export class XmlAttribute extends XmlNode {
  /** @internal */
  declare readonly prefix: string;
  /** @internal */
  declare readonly local: string;
  /** @internal */
  declare readonly namespace: string;
  /** @internal */
  declare value: string;

  /** @internal */
  constructor(
    owner: XmlDocument | null,
    prefix: string,
    local: string,
    namespace: string,
    value = "",
  ) {
    super(owner);
    this.prefix = prefix;
    this.local = local;
    this.namespace = namespace;
    this.value = value;
  }

  get NodeType(): XmlNodeType {
    return "Attribute";
  }
  get Name(): string {
    return this.prefix === "" ? this.local : `${this.prefix}:${this.local}`;
  }
  override get LocalName(): string {
    return this.local;
  }
  override get Prefix(): string {
    return this.prefix;
  }
  override get NamespaceURI(): string {
    return this.namespace;
  }
  override get Value(): string {
    return this.value;
  }
  override set Value(value: string | null) {
    this.value = textFrom(value);
  }
  override get ParentNode(): null {
    return null;
  }
  get OwnerElement(): XmlElement | null {
    return this.parent as XmlElement | null;
  }

  /** @internal */
  copy(owner: XmlDocument | null): XmlAttribute {
    return new XmlAttribute(owner, this.prefix, this.local, this.namespace, this.value);
  }
}

/** Text, CDATA sections and comments. */
export abstract class XmlCharacterData extends XmlNode {
  /** @internal */
  declare data: string;

  /** @internal */
  constructor(owner: XmlDocument | null, data: string) {
    super(owner);
    this.data = data;
  }

  override get Value(): string {
    return this.data;
  }
  override set Value(value: string | null) {
    this.data = textFrom(value);
  }
  get Data(): string {
    return this.data;
  }
  set Data(data: string) {
    this.data = textFrom(data);
  }
}

export class XmlText extends XmlCharacterData {
  get NodeType(): XmlNodeType {
    return "Text";
  }
  get Name(): string {
    return "#text";
  }
  /** @internal */
  copy(owner: XmlDocument | null): XmlText {
    return new XmlText(owner, this.data);
  }
}

export class XmlCDataSection extends XmlCharacterData {
  get NodeType(): XmlNodeType {
    return "CDATA";
  }
  get Name(): string {
    return "#cdata-section";
  }
  /** @internal */
  copy(owner: XmlDocument | null): XmlCDataSection {
    return new XmlCDataSection(owner, this.data);
  }
}

export class XmlComment extends XmlCharacterData {
  get NodeType(): XmlNodeType {
    return "Comment";
  }
  get Name(): string {
    return "#comment";
  }
  /** @internal */
  copy(owner: XmlDocument | null): XmlComment {
    return new XmlComment(owner, this.data);
  }
}

export class XmlProcessingInstruction extends XmlCharacterData {
  readonly Target: string;

  /** @internal */
  constructor(owner: XmlDocument | null, target: string, data: string) {
    super(owner, data);
    this.Target = target;
  }

  get NodeType(): XmlNodeType {
    return "ProcessingInstruction";
  }
  get Name(): string {
    return this.Target;
  }
  /** @internal */
  copy(owner: XmlDocument | null): XmlProcessingInstruction {
    return new XmlProcessingInstruction(owner, this.Target, this.data);
  }
}

export class XmlDeclaration extends XmlNode {
  readonly Version: string;
  Encoding: string;
  Standalone: string;

  /** @internal */
  constructor(owner: XmlDocument | null, version: string, encoding: string, standalone: string) {
    super(owner);
    this.Version = version;
    this.Encoding = encoding;
    this.Standalone = standalone;
  }

  get NodeType(): XmlNodeType {
    return "XmlDeclaration";
  }
  get Name(): string {
    return "xml";
  }
  override get Value(): string {
    return [
      `version="${this.Version}"`,
      ...(this.Encoding === "" ? [] : [`encoding="${this.Encoding}"`]),
      ...(this.Standalone === "" ? [] : [`standalone="${this.Standalone}"`]),
    ].join(" ");
  }
  /** @internal */
  copy(owner: XmlDocument | null): XmlDeclaration {
    return new XmlDeclaration(owner, this.Version, this.Encoding, this.Standalone);
  }
}

export class XmlDocumentFragment extends XmlParentNode {
  get NodeType(): XmlNodeType {
    return "DocumentFragment";
  }
  get Name(): string {
    return "#document-fragment";
  }
  /** @internal */
  copy(owner: XmlDocument | null): XmlDocumentFragment {
    return new XmlDocumentFragment(owner);
  }
}

/** `attributes["name"]`, `attributes[0]`, `Count`, iteration. Made for one reading. */
export class XmlAttributeCollection {
  readonly #element: XmlElement;
  readonly [name: string | number]: Dynamic;

  /** @internal */
  constructor(element: XmlElement) {
    this.#element = element;
    for (const [i, attribute] of element.attributes.entries()) {
      Object.defineProperty(this, i, { value: attribute, enumerable: true });
      // A name that the collection itself uses is left to `GetNamedItem`.
      if (!(attribute.Name in this)) {
        Object.defineProperty(this, attribute.Name, { value: attribute });
      }
    }
  }

  get Count(): number {
    return this.#element.attributes.length;
  }
  get length(): number {
    return this.#element.attributes.length;
  }
  Item(index: number): XmlAttribute | null {
    return this.#element.attributes[index] ?? null;
  }
  GetNamedItem(name: string, namespaceURI?: string): XmlAttribute | null {
    return this.#element.GetAttributeNode(name, namespaceURI);
  }
  SetNamedItem(attribute: XmlAttribute): XmlAttribute | null {
    return this.#element.SetAttributeNode(attribute);
  }
  RemoveNamedItem(name: string, namespaceURI?: string): XmlAttribute | null {
    const known = this.#element.GetAttributeNode(name, namespaceURI);
    return known === null ? null : this.#element.RemoveAttributeNode(known);
  }
  Append(attribute: XmlAttribute): XmlAttribute {
    this.#element.SetAttributeNode(attribute);
    return attribute;
  }
  Remove(attribute: XmlAttribute): XmlAttribute {
    return this.#element.RemoveAttributeNode(attribute);
  }
  [Symbol.iterator](): Iterator<XmlAttribute> {
    return [...this.#element.attributes][Symbol.iterator]();
  }
}

function isInside(node: XmlNode, outer: XmlNode): boolean {
  for (let level: XmlNode | null = node; level !== null; level = level.parent) {
    if (level === outer) return true;
  }
  return false;
}

/** The children as they are now: they may be moved while one goes through them. */
export function childrenOf(node: XmlNode): XmlNode[] {
  const children: XmlNode[] = [];
  for (let child = node.first; child !== null; child = child.next) children.push(child);
  return children;
}

export function elementsByTagName(
  root: XmlNode,
  name: string,
  namespaceURI: string | undefined,
): XmlElement[] {
  const found: XmlElement[] = [];
  for (let node = following(root, root); node !== null; node = following(node, root)) {
    if (!(node instanceof XmlElement)) continue;
    const fits =
      namespaceURI === undefined
        ? name === "*" || node.Name === name || node.local === name
        : (name === "*" || node.local === name) &&
          (namespaceURI === "*" || node.namespace === namespaceURI);
    if (fits) found.push(node);
  }
  return found;
}

export function copyTree(root: XmlNode, owner: XmlDocument | null, deep: boolean): XmlNode {
  const copy = root.copy(owner);
  if (!deep || !(copy instanceof XmlParentNode)) return copy;
  const copies = new Map<XmlNode, XmlParentNode>([[root, copy]]);
  for (let node = following(root, root); node !== null; node = following(node, root)) {
    const own = node.copy(owner);
    if (own instanceof XmlParentNode) copies.set(node, own);
    copies.get(node.parent!)!.link(own, null);
  }
  return copy;
}

export function createAttribute(
  owner: XmlDocument | null,
  name: string,
  namespace: string | undefined,
  scope: Scope,
  value = "",
): XmlAttribute {
  const { prefix, local } = requireName(name);
  if (isDeclaration(prefix, local)) {
    return new XmlAttribute(owner, prefix, local, xmlnsNamespace, value);
  }
  if (prefix === "xml") return new XmlAttribute(owner, prefix, local, xmlNamespace, value);
  const found = namespace ?? (prefix === "" ? "" : (scope[prefix] ?? ""));
  return new XmlAttribute(owner, prefix, local, found, value);
}

const isNamed = (attribute: XmlAttribute, name: string, namespace: string | undefined): boolean =>
  namespace === undefined
    ? attribute.Name === name
    : attribute.local === name && attribute.namespace === namespace;

/** What is declared at the node, from the root down. */
export function scopeOf(node: XmlNode): Scope {
  const path: XmlElement[] = [];
  for (let level: XmlNode | null = node; level !== null; level = level.parent) {
    if (level instanceof XmlElement) path.unshift(level);
  }
  const scope = outermostScope();
  for (const element of path) {
    scope[element.prefix] = element.namespace;
    for (const attribute of element.attributes) {
      if (attribute.namespace !== xmlnsNamespace) continue;
      scope[attribute.prefix === "" ? "" : attribute.local] = attribute.value;
    }
  }
  return scope;
}
