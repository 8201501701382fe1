/**
 * Reads XML text and tells a builder what it finds, in one pass. Well-formed or refused: a document
 * type is refused unread, so there are no entities to expand and nothing to fetch.
 *
 * Written around `indexOf` and sticky expressions, because in the sandbox's interpreter a loop over
 * characters costs some fifty times as much.
 */
import { limits } from "../../contract.ts";
import { XmlException } from "../errors.ts";
import { expandReferences, requireLegal } from "./characters.ts";
import {
  isDeclaration,
  qualifiedNameSource,
  splitName,
  xmlNamespace,
  xmlnsNamespace,
} from "./names.ts";

export interface ParsedAttribute {
  readonly name: string;
  readonly prefix: string;
  readonly local: string;
  readonly namespace: string;
  readonly value: string;
}

export interface XmlBuilder {
  declaration(version: string, encoding: string, standalone: string): void;
  startElement(
    name: string,
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

interface Open {
  readonly name: string;
  readonly scope: Scope;
}

const tagStart = new RegExp(`<(${qualifiedNameSource})`, "y");
const attribute = new RegExp(
  `[ \\t\\r\\n]+(${qualifiedNameSource})[ \\t\\r\\n]*=[ \\t\\r\\n]*(?:"([^<"]*)"|'([^<']*)')`,
  "y",
);
const tagEnd = /[ \t\r\n]*(\/?)>/y;
const closeEnd = /[ \t\r\n]*>/y;
const declaration =
  /<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"(1\.\d+)"|'(1\.\d+)')(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"([A-Za-z][\w.-]*)"|'([A-Za-z][\w.-]*)'))?(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(yes|no)"|'(yes|no)'))?[ \t\r\n]*\?>/y;
const instruction = new RegExp(`<\\?(${qualifiedNameSource})(?:[ \\t\\r\\n]+|(?=\\?>))`, "y");
const blank = /^[ \t\r\n]*$/;

export interface ParseOptions {
  /** Content of an element, with what is declared around it; any number of roots, and text. */
  readonly fragmentIn?: Scope;
}

export function parse(source: string, builder: XmlBuilder, options: ParseOptions = {}): void {
  if (source.length > limits.xmlLength) {
    throw new XmlException(`The text is longer than ${limits.xmlLength} characters.`);
  }
  new Parser(requireLegal(source), builder, options.fragmentIn).run();
}

class Parser {
  readonly #text: string;
  readonly #builder: XmlBuilder;
  readonly #isFragment: boolean;
  readonly #outermost: Scope;
  readonly #open: Open[] = [];
  #at = 0;
  #roots = 0;

  constructor(text: string, builder: XmlBuilder, fragmentIn: Scope | undefined) {
    this.#text = text;
    this.#builder = builder;
    this.#isFragment = fragmentIn !== undefined;
    this.#outermost = fragmentIn ?? outermostScope();
  }

  run(): void {
    const text = this.#text;
    if (!this.#isFragment) this.#prolog();
    while (this.#at < text.length) {
      const tag = text.indexOf("<", this.#at);
      if (tag !== this.#at) this.#characters(text.slice(this.#at, tag === -1 ? undefined : tag));
      if (tag === -1) break;
      this.#at = tag;
      this.#markup(text.charCodeAt(tag + 1));
    }
    const unclosed = this.#open.at(-1);
    if (unclosed !== undefined) throw this.#wrong(`'${unclosed.name}' is not closed.`);
    if (!this.#isFragment && this.#roots !== 1) throw this.#wrong("Root element is missing.");
  }

  #prolog(): void {
    // A byte order mark is not part of the document; services send it all the same.
    if (this.#text.charCodeAt(0) === 0xfeff) this.#at = 1;
    if (!/^<\?xml[ \t\r\n]/.test(this.#text.slice(this.#at, this.#at + 6))) return;
    const found = this.#match(declaration);
    if (found === null) throw this.#wrong("The XML declaration is not valid.");
    this.#builder.declaration(
      found[1] ?? found[2] ?? "1.0",
      found[3] ?? found[4] ?? "",
      found[5] ?? found[6] ?? "",
    );
  }

  #characters(raw: string): void {
    const isBlank = raw.charCodeAt(0) <= 32 && blank.test(raw);
    if (this.#open.length === 0 && !this.#isFragment) {
      if (!isBlank) throw this.#wrong("Data at the root level is invalid.");
    } else {
      if (raw.includes("]]>")) throw this.#wrong("']]>' cannot stand in text.");
      this.#builder.text(expandReferences(withPlainLines(raw)), isBlank);
    }
    this.#at += raw.length;
  }

  #markup(next: number): void {
    if (next === 47 /* / */) this.#closeTag();
    else if (next === 33 /* ! */) this.#bang();
    else if (next === 63 /* ? */) this.#instruction();
    else this.#openTag();
  }

  #openTag(): void {
    const name = this.#match(tagStart)?.[1];
    if (name === undefined) throw this.#wrong("'<' does not start a tag.");
    if (this.#open.length === 0 && !this.#isFragment && this.#roots > 0) {
      throw this.#wrong("There are multiple root elements.");
    }
    if (this.#open.length >= limits.xmlDepth) {
      throw this.#wrong(`Elements are nested deeper than ${limits.xmlDepth}.`);
    }
    const raw: [string, string][] = [];
    for (let found = this.#match(attribute); found !== null; found = this.#match(attribute)) {
      raw.push([found[1]!, attributeValue(found[2] ?? found[3] ?? "")]);
    }
    const end = this.#match(tagEnd);
    if (end === null) throw this.#wrong(`The tag of '${name}' is not well-formed.`);
    const outer = this.#open.at(-1)?.scope ?? this.#outermost;
    const scope = this.#declare(outer, raw);
    const isEmpty = end[1] === "/";
    const namespace = this.#namespace(scope, splitName(name).prefix);
    this.#builder.startElement(name, namespace, this.#attributes(scope, raw), isEmpty);
    if (this.#open.length === 0) this.#roots += 1;
    if (isEmpty) this.#builder.endElement();
    else this.#open.push({ name, scope });
  }

  #declare(outer: Scope, attributes: readonly [string, string][]): Scope {
    let scope = outer;
    for (const [name, value] of attributes) {
      if (!name.startsWith("xmlns")) continue;
      const { prefix, local } = splitName(name);
      if (!isDeclaration(prefix, local)) continue;
      const declared = prefix === "" ? "" : local;
      if (!mayDeclare(declared, value)) throw this.#wrong(`'${name}' declares what it may not.`);
      if (scope === outer) scope = Object.create(outer) as Scope;
      scope[declared] = value;
    }
    return scope;
  }

  #attributes(scope: Scope, raw: readonly [string, string][]): ParsedAttribute[] {
    if (raw.length === 0) return [];
    const seen = new Set<string>();
    return raw.map(([name, value]) => {
      const { prefix, local } = splitName(name);
      const namespace = isDeclaration(prefix, local)
        ? xmlnsNamespace
        : prefix === ""
          ? ""
          : this.#namespace(scope, prefix);
      const expanded = `${namespace} ${local}`;
      if (seen.has(expanded)) throw this.#wrong(`'${name}' is a duplicate attribute name.`);
      seen.add(expanded);
      return { name, prefix, local, namespace, value };
    });
  }

  #namespace(scope: Scope, prefix: string): string {
    const namespace = prefix === "xmlns" ? undefined : scope[prefix];
    if (namespace === undefined) throw this.#wrong(`'${prefix}' is an undeclared prefix.`);
    return namespace;
  }

  #closeTag(): void {
    const open = this.#open.pop();
    if (open === undefined || !this.#text.startsWith(open.name, this.#at + 2)) {
      throw this.#wrong("An end tag does not match its start tag.");
    }
    this.#at += 2 + open.name.length;
    if (this.#match(closeEnd) === null) {
      throw this.#wrong("An end tag does not match its start tag.");
    }
    this.#builder.endElement();
  }

  #bang(): void {
    if (this.#text.startsWith("<!--", this.#at)) {
      const data = this.#until("<!--", "-->");
      if (data.includes("--") || data.endsWith("-")) {
        throw this.#wrong("'--' cannot stand in a comment.");
      }
      this.#builder.comment(withPlainLines(data));
    } else if (this.#text.startsWith("<![CDATA[", this.#at)) {
      if (this.#open.length === 0 && !this.#isFragment) {
        throw this.#wrong("Data at the root level is invalid.");
      }
      this.#builder.cdata(withPlainLines(this.#until("<![CDATA[", "]]>")));
    } else {
      throw this.#wrong("A document type is not accepted.");
    }
  }

  #instruction(): void {
    const start = this.#at;
    const found = this.#match(instruction);
    const target = found?.[1];
    if (found === null || target === undefined || target.includes(":") || /^xml$/i.test(target)) {
      throw this.#wrong("A processing instruction is not well-formed.");
    }
    this.#at = start;
    this.#builder.instruction(target, withPlainLines(this.#until(found[0], "?>")));
  }

  /** What stands between the opening, which is here, and the end; goes behind the end. */
  #until(opening: string, end: string): string {
    const from = this.#at + opening.length;
    const to = this.#text.indexOf(end, from);
    if (to === -1) throw this.#wrong(`'${end}' is missing.`);
    this.#at = to + end.length;
    return this.#text.slice(from, to);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  #wrong(message: string): XmlException {
    const before = this.#text.slice(0, this.#at);
    const line = before.split("\n").length;
    return new XmlException(
      `${message} Line ${line}, position ${this.#at - before.lastIndexOf("\n")}.`,
    );
  }
}

function mayDeclare(prefix: string, namespace: string): boolean {
  if (prefix === "xml") return namespace === xmlNamespace;
  if (prefix === "xmlns" || namespace === xmlNamespace || namespace === xmlnsNamespace)
    return false;
  return prefix === "" || namespace !== "";
}

const withPlainLines = (text: string): string =>
  text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;

const attributeValue = (raw: string): string =>
  expandReferences(/[\t\r\n]/.test(raw) ? raw.replaceAll(/\r\n|[\t\r\n]/g, " ") : raw);
