/**
 * `application/x-www-form-urlencoded` as a JSON tree. Specification, "Form-urlencoded bodies".
 *
 *   name=v                   member                  name=v&name=w           array of scalars
 *   name[a][b]=v             nested objects          name[]=v&name[]=w       array of scalars
 *   name[0][f]=v&name[1][f]=w   array of objects: indexes from 0 without gaps, in any order
 *
 * Nothing is repaired: a body that can be read in two ways, or in none, is refused as a whole.
 * Values are JSON literals where they look like one (12, true, null, "12"), else text; in a standard
 * envelope `key`, `stage` and the elements of `tags` are text whatever they look like.
 */
import {
  isNested,
  isNumberLiteral,
  type JsonObject,
  type JsonValue,
  numberFromLiteral,
  setMember,
} from "./exact-json.ts";
import { isEnvelopeField, PayloadMode, resolvePayloadMode } from "./payload-mode.ts";

export interface FormOptions {
  /** Whether the body is an envelope or data by payload mode; a function's body never is. */
  envelope: boolean;
  /** The value of the payload-mode header. */
  header?: string | undefined;
}

/** The one error of this module: nothing of the body has been used. */
export class FormError extends Error {
  override readonly name = "FormError";
  /** The form key as sent, decoded; empty when the body as a whole is at fault. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

export const formLimits = { pairs: 10_000, depth: 64, index: 1024 } as const;

export function parseForm(given: string | Buffer, options: FormOptions): JsonObject {
  const text = typeof given === "string" ? given : decodeBytes(given);
  refuseJson(text);
  const root: ObjectNode = { kind: "object", members: new Map() };
  for (const [key, value] of readPairs(text)) insert(root, readPath(key), key, value);
  // Before any value is typed, because the mode decides which of them stay text.
  const standard =
    options.envelope &&
    resolvePayloadMode(options.header, [...root.members.keys()]) === PayloadMode.standard;
  const body: JsonObject = {};
  for (const [name, node] of root.members) {
    setMember(body, name, standard ? envelopeMember(name, node) : valueOf(node, name, literal));
  }
  return body;
}

function envelopeMember(name: string, node: Node): JsonValue {
  if (isEnvelopeField("key", name) || isEnvelopeField("stage", name)) {
    return valueOf(node, name, verbatim);
  }
  if (isEnvelopeField("tags", name)) {
    const tags = valueOf(node, name, verbatim);
    // One tag sent as `tags=a` is still a list.
    return typeof tags === "string" ? [tags] : tags;
  }
  return valueOf(node, name, literal);
}

// Text to pairs

function decodeBytes(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new FormError(
      "",
      "The form body is not valid UTF-8. Encode it as UTF-8, and other bytes as %XX.",
    );
  }
}

/** No form encodes a name like this, but many a client calls JSON a form unless it is told otherwise. */
function refuseJson(text: string): void {
  if (!/^\s*\{\s*["}]/.test(text)) return;
  throw new FormError(
    "",
    "The body is JSON, but its content type says that it is a form. Send it with the content type application/json.",
  );
}

function* readPairs(text: string): Generator<[key: string, value: string]> {
  let count = 0;
  for (let start = 0; start <= text.length;) {
    const ampersand = text.indexOf("&", start);
    const end = ampersand === -1 ? text.length : ampersand;
    const pair = text.slice(start, end);
    start = end + 1;
    // `a=1&&b=2` and a trailing `&` carry nothing.
    if (pair === "") continue;
    count += 1;
    if (count > formLimits.pairs) {
      throw new FormError(
        "",
        `The form body has more than ${formLimits.pairs} fields. Send fewer, or send JSON.`,
      );
    }
    const equals = pair.indexOf("=");
    const rawKey = equals === -1 ? pair : pair.slice(0, equals);
    const key = decodePercent(rawKey, rawKey);
    yield [key, equals === -1 ? "" : decodePercent(pair.slice(equals + 1), key)];
  }
}

function decodePercent(text: string, key: string): string {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new FormError(
      key,
      `'${shortened(text)}' in the form field '${shortened(key)}' is not percent-encoded UTF-8. Write a percent sign itself as %25, and other characters as the %XX of their UTF-8 bytes.`,
    );
  }
}

// Key to path

/** A name, an index, or the `[]` that appends. */
type Segment = string | number | typeof append;
const append = Symbol("[]");

/** `a[b][0][]` → a, b, 0, []. */
function readPath(key: string): Segment[] {
  const head = /^[^[\]]*/.exec(key)?.[0] ?? "";
  if (head === "") {
    throw malformed(key, "has no name before its value or bracket. Start it with a name");
  }
  const path: Segment[] = [head];
  let at = head.length;
  while (at < key.length) {
    if (key[at] !== "[") {
      throw malformed(key, "has text after a bracket. Put every further name in its own brackets");
    }
    const close = key.indexOf("]", at);
    const inner = close === -1 ? "" : key.slice(at + 1, close);
    if (close === -1 || inner.includes("[")) {
      throw malformed(key, "has a bracket that is not closed. Write name[a][b]");
    }
    if (path.at(-1) === append) {
      throw malformed(
        key,
        "goes on behind '[]', so its elements cannot be told apart. Give them indexes: name[0][field]",
      );
    }
    path.push(readSegment(key, inner));
    if (path.length > formLimits.depth) {
      throw malformed(key, `is nested deeper than ${formLimits.depth} levels. Send a flatter form`);
    }
    at = close + 1;
  }
  return path;
}

function readSegment(key: string, inner: string): Segment {
  if (inner === "") return append;
  if (/^-\d+$/.test(inner)) throw malformed(key, "has a negative index. Count from 0");
  if (!/^\d+$/.test(inner)) return inner;
  // 01 is neither surely the index 1 nor surely a name.
  if (/^0\d/.test(inner))
    throw malformed(key, "has an index with a leading zero. Write it without");
  const index = Number(inner);
  if (index > formLimits.index) {
    throw malformed(
      key,
      `has an index over ${formLimits.index}. Send a shorter list, or send JSON`,
    );
  }
  return index;
}

const malformed = (key: string, what: string): FormError =>
  new FormError(key, `The form key '${shortened(key)}' ${what}.`);

// Paths to a tree

/**
 * Text is kept as it came until the whole tree stands. `scalars` is one path that was given once or
 * repeatedly (`a=1&a=2`); `list` was given with `[]`, and is a list even with one element.
 */
type Node = ScalarsNode | ListNode | ArrayNode | ObjectNode;
interface ScalarsNode {
  kind: "scalars";
  texts: string[];
}
interface ListNode {
  kind: "list";
  texts: string[];
}
interface ArrayNode {
  kind: "array";
  items: Map<number, Node>;
}
interface ObjectNode {
  kind: "object";
  members: Map<string, Node>;
}

const kindWords = {
  scalars: "a single value",
  list: "a list with []",
  array: "a list with indexes",
  object: "an object",
} as const;

function insert(root: ObjectNode, path: Segment[], key: string, text: string): void {
  let parent: ObjectNode | ArrayNode = root;
  for (const [i, segment] of path.entries()) {
    // `[]` was taken together with the name or index before it.
    if (segment === append) return;
    const next = path[i + 1];
    const kind = kindFor(next);
    const node = childOf(parent, segment, kind);
    if (node.kind !== kind) {
      throw malformed(
        key,
        `makes ${kindWords[kind]} of what another field makes ${kindWords[node.kind]}. Send one of the two`,
      );
    }
    if (node.kind === "scalars" && typeof segment === "number" && node.texts.length > 0) {
      throw malformed(key, "gives the same index twice. Give each element its own index");
    }
    if (node.kind === "scalars" || node.kind === "list") node.texts.push(text);
    else parent = node;
  }
}

function kindFor(next: Segment | undefined): Node["kind"] {
  if (next === undefined) return "scalars";
  if (next === append) return "list";
  return typeof next === "number" ? "array" : "object";
}

/** The node under a name or an index, made when it is not there. Only the path's own kind is made. */
function childOf(
  parent: ObjectNode | ArrayNode,
  segment: string | number,
  kind: Node["kind"],
): Node {
  const children = (parent.kind === "object" ? parent.members : parent.items) as Map<
    string | number,
    Node
  >;
  const known = children.get(segment);
  if (known !== undefined) return known;
  const node = emptyNode(kind);
  children.set(segment, node);
  return node;
}

function emptyNode(kind: Node["kind"]): Node {
  if (kind === "object") return { kind, members: new Map() };
  if (kind === "array") return { kind, items: new Map() };
  return { kind, texts: [] };
}

// Tree to JSON

type Typing = (text: string, path: string) => JsonValue;

function valueOf(node: Node, path: string, typing: Typing): JsonValue {
  if (node.kind === "object") return membersOf(node, path, typing);
  if (node.kind === "array") return itemsOf(node, path, typing);
  if (node.kind === "scalars" && node.texts.length === 1) return typing(node.texts[0]!, path);
  return node.texts.map((text) => typing(text, path));
}

function membersOf(node: ObjectNode, path: string, typing: Typing): JsonObject {
  const object: JsonObject = {};
  for (const [name, member] of node.members) {
    setMember(object, name, valueOf(member, `${path}[${name}]`, typing));
  }
  return object;
}

/** No array is made before its indexes are known to be dense: a stray 1024 costs nothing. */
function itemsOf(node: ArrayNode, path: string, typing: Typing): JsonValue[] {
  const items: JsonValue[] = [];
  for (let i = 0; i < node.items.size; i += 1) {
    const item = node.items.get(i);
    if (item === undefined) {
      throw new FormError(
        path,
        `The list '${shortened(path)}' has ${node.items.size} ${node.items.size === 1 ? "element" : "elements"} but none with the index ${i}. Number them from 0 without gaps.`,
      );
    }
    items.push(valueOf(item, `${path}[${i}]`, typing));
  }
  return items;
}

const verbatim: Typing = (text) => text;

/** Rule 1: numbers, true, false, null and quoted text are what they are in JSON; the rest is text. */
function literal(text: string, path: string): JsonValue {
  if (text === "true") return true;
  if (text === "false") return false;
  if (text === "null") return null;
  if (isNumberLiteral(text)) return numberFromLiteral(text);
  if (text.startsWith('"')) return parsed(text) ?? text;
  if (/^\s*[[{]/.test(text) && parsed(text) !== undefined) {
    throw new FormError(
      path,
      `The value '${shortened(text)}' of the form field '${shortened(path)}' is a JSON object or array. Spell it out with brackets (${shortened(path)}[name]=…), quote it to send it as text, or send the body as application/json.`,
    );
  }
  return text;
}

function parsed(text: string): JsonValue | undefined {
  if (isNested(text, formLimits.depth)) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
