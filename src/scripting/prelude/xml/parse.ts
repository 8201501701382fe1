/**
 * Reads XML text and tells a builder what it finds, in one pass. Well-formed or refused: a document
 * type is refused unread, so there are no entities to expand and nothing to fetch.
 *
 * Written for the sandbox's interpreter, where a loop over characters costs some fifty times as much
 * as in a compiled engine: `indexOf` finds the tags, names are checked once each, and variables of
 * one function take the place of an object's members.
 */
import { limits } from "../../contract.ts";
import { XmlException } from "../errors.ts";
import { readAttribute, readLines, readText } from "./characters.ts";
import {
  isDeclaration,
  qualifiedNameSource,
  requireName,
  xmlNamespace,
  xmlnsNamespace,
  type QualifiedName,
} from "./names.ts";

export interface ParsedAttribute extends QualifiedName {
  readonly namespace: string;
  readonly value: string;
}

export interface XmlBuilder {
  declaration(version: string, encoding: string, standalone: string): void;
  startElement(
    name: QualifiedName,
    namespace: string,
    attributes: readonly ParsedAttribute[],
    isEmpty: boolean,
  ): void;
  endElement(): void;
  text(data: string, isBlank: boolean): void;
  cdata(data: string): void;
  comment(data: string): void;
  instruction(target: string, data: string): void;
}

/** Prefix → namespace; an inner scope inherits from the outer one. */
export type Scope = { [prefix: string]: string };

export const outermostScope = (): Scope =>
  Object.assign(Object.create(null) as Scope, { "": "", xml: xmlNamespace });

export interface ParseOptions {
  /** Content of an element, with what is declared around it; any number of roots, and text. */
  readonly fragmentIn?: Scope;
}

const attributeStart = new RegExp(
  `[ \\t\\r\\n]+(${qualifiedNameSource})[ \\t\\r\\n]*=[ \\t\\r\\n]*(?:"([^<"]*)"|'([^<']*)')`,
  "y",
);
const tagName = /[^ \t\r\n/>]+/y;
const tagEnd = /[ \t\r\n]*(\/?)>/y;
const closeEnd = /[ \t\r\n]*>/y;
const declaration =
  /<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"(1\.\d+)"|'(1\.\d+)')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z][\w.-]*)"|'([A-Za-z][\w.-]*)'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(yes|no)"|'(yes|no)'))?[ \t\r\n]*\?>/y;
const instruction = new RegExp(`<\\?(${qualifiedNameSource})(?:[ \\t\\r\\n]+|(?=\\?>))`, "y");
const blank = /^[ \t\r\n]*$/;

const slash = 47;
const greater = 62;

export function parse(source: string, builder: XmlBuilder, options: ParseOptions = {}): void {
  if (source.length > limits.xmlLength) {
    throw new XmlException(`The text is longer than ${limits.xmlLength} characters.`);
  }
  const isFragment = options.fragmentIn !== undefined;
  const names = new Map<string, QualifiedName>();
  const openNames: string[] = [];
  const openScopes: Scope[] = [];
  let scope = options.fragmentIn ?? outermostScope();
  let depth = 0;
  let roots = 0;
  let at = 0;

  const wrong = (message: string): XmlException => {
    const before = source.slice(0, at);
    const line = before.split("\n").length;
    return new XmlException(`${message} Line ${line}, position ${at - before.lastIndexOf("\n")}.`);
  };
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  /** What stands between the opening, which is here, and the end; goes behind the end. */
  const until = (openingLength: number, end: string): string => {
    const from = at + openingLength;
    const to = source.indexOf(end, from);
    if (to === -1) throw wrong(`'${end}' is missing.`);
    at = to + end.length;
    return source.slice(from, to);
  };
  const nameOf = (text: string): QualifiedName => {
    let name = names.get(text);
    if (name === undefined) {
      name = requireName(text);
      names.set(text, name);
    }
    return name;
  };
  const namespaceOf = (prefix: string): string => {
    const namespace = prefix === "xmlns" ? undefined : scope[prefix];
    if (namespace === undefined) throw wrong(`'${prefix}' is an undeclared prefix.`);
    return namespace;
  };

  const characters = (end: number): void => {
    if (end === at) return;
    const raw = source.slice(at, end);
    const isBlank = raw.charCodeAt(0) <= 32 && blank.test(raw);
    if (depth > 0 || isFragment) builder.text(readText(raw), isBlank);
    else if (!isBlank) throw wrong("Data at the root level is invalid.");
    at = end;
  };

  const declare = (attributes: readonly (readonly [QualifiedName, string])[]): void => {
    const outer = scope;
    for (const [{ prefix, local }, value] of attributes) {
      if (!isDeclaration(prefix, local)) continue;
      const declared = prefix === "" ? "" : local;
      if (!mayDeclare(declared, value)) throw wrong(`'${declared}' cannot be declared like that.`);
      if (scope === outer) scope = Object.create(outer) as Scope;
      scope[declared] = value;
    }
  };
  const resolve = (
    attributes: readonly (readonly [QualifiedName, string])[],
  ): ParsedAttribute[] => {
    const seen = new Set<string>();
    return attributes.map(([{ prefix, local }, value]) => {
      const namespace = isDeclaration(prefix, local)
        ? xmlnsNamespace
        : prefix === ""
          ? ""
          : namespaceOf(prefix);
      const expanded = `${namespace} ${local}`;
      if (seen.has(expanded)) throw wrong(`'${local}' is a duplicate attribute name.`);
      seen.add(expanded);
      return { prefix, local, namespace, value };
    });
  };

  const openTag = (): void => {
    if (depth === 0 && !isFragment && roots > 0) throw wrong("There are multiple root elements.");
    if (depth >= limits.xmlDepth) {
      throw wrong(`Elements are nested deeper than ${limits.xmlDepth}.`);
    }
    at += 1;
    const text = match(tagName)?.[0];
    if (text === undefined) throw wrong("'<' does not start a tag.");
    const name = nameOf(text);
    const outer = scope;
    let attributes: ParsedAttribute[] = none;
    let isEmpty = false;
    if (source.charCodeAt(at) === greater) {
      at += 1;
    } else {
      const raw: [QualifiedName, string][] = [];
      for (let found = match(attributeStart); found !== null; found = match(attributeStart)) {
        raw.push([nameOf(found[1]!), readAttribute(found[2] ?? found[3] ?? "")]);
      }
      const end = match(tagEnd);
      if (end === null) throw wrong(`The tag of '${text}' is not well-formed.`);
      isEmpty = end[1] === "/";
      if (raw.length > 0) {
        declare(raw);
        attributes = resolve(raw);
      }
    }
    builder.startElement(name, namespaceOf(name.prefix), attributes, isEmpty);
    if (depth === 0) roots += 1;
    if (isEmpty) {
      builder.endElement();
      scope = outer;
    } else {
      openNames.push(text);
      openScopes.push(outer);
      depth += 1;
    }
  };

  const closeTag = (): void => {
    const name = openNames.pop();
    const mismatch = "An end tag does not match its start tag.";
    if (name === undefined || !source.startsWith(name, at + 2)) throw wrong(mismatch);
    at += 2 + name.length;
    if (source.charCodeAt(at) === greater) at += 1;
    else if (match(closeEnd) === null) throw wrong(mismatch);
    scope = openScopes.pop()!;
    depth -= 1;
    builder.endElement();
  };

  const special = (): void => {
    if (source.startsWith("<!--", at)) {
      const data = until(4, "-->");
      if (data.includes("--") || data.endsWith("-")) throw wrong("'--' cannot stand in a comment.");
      builder.comment(readLines(data));
    } else if (source.startsWith("<![CDATA[", at)) {
      if (depth === 0 && !isFragment) throw wrong("Data at the root level is invalid.");
      builder.cdata(readLines(until(9, "]]>")));
    } else {
      throw wrong("A document type is not accepted.");
    }
  };

  const processingInstruction = (): void => {
    const start = at;
    const found = match(instruction);
    const target = found?.[1];
    if (found === null || target === undefined || target.includes(":") || /^xml$/i.test(target)) {
      throw wrong("A processing instruction is not well-formed.");
    }
    at = start;
    builder.instruction(target, readLines(until(found[0].length, "?>")));
  };

  const prolog = (): void => {
    // A byte order mark is not part of the document; services send it all the same.
    if (source.charCodeAt(0) === 0xfeff) at = 1;
    if (!/^<\?xml[ \t\r\n]/.test(source.slice(at, at + 6))) return;
    const found = match(declaration);
    if (found === null) throw wrong("The XML declaration is not valid.");
    builder.declaration(
      found[1] ?? found[2] ?? "1.0",
      found[3] ?? found[4] ?? "",
      found[5] ?? found[6] ?? "",
    );
  };

  if (!isFragment) prolog();
  for (;;) {
    const tag = source.indexOf("<", at);
    if (tag !== at) characters(tag === -1 ? source.length : tag);
    if (tag === -1) break;
    const next = source.charCodeAt(tag + 1);
    if (next === slash) closeTag();
    else if (next === 33 /* ! */) special();
    else if (next === 63 /* ? */) processingInstruction();
    else openTag();
  }
  if (depth > 0) throw wrong(`'${openNames.at(-1)}' is not closed.`);
  if (!isFragment && roots !== 1) throw wrong("Root element is missing.");
}

const none: ParsedAttribute[] = [];

function mayDeclare(prefix: string, namespace: string): boolean {
  if (prefix === "xml") return namespace === xmlNamespace;
  if (prefix === "xmlns" || namespace === xmlNamespace || namespace === xmlnsNamespace) {
    return false;
  }
  return prefix === "" || namespace !== "";
}
