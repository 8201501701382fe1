/**
 * Which members of the context a script reads, told from its text, so that the host sends no more.
 *
 * The scan understands what authors usually write: `context.Body`, `context["Body"]`,
 * `const { Body } = context`, `OutputHandler({ Body })`. Whatever else happens to the context (it is
 * passed on, kept, enumerated, indexed by a variable), and whatever the scan cannot follow, counts as
 * a use of everything. A member that it missed all the same is an error in the script's call, never
 * a silent null (`ScriptCall.members`).
 */
import {
  contextMembers,
  contextMethods,
  handlerNames,
  handlers,
  type ContextMember,
  type HandlerKind,
} from "./contract.ts";
import { scriptTokens, type ScriptToken } from "./script-tokens.ts";

export interface UsedMembersOptions {
  /** The one handler that will be called; by default all that the script has. */
  readonly kind?: HandlerKind;
  /** False: the script imports nothing but the contract, so all its handlers are in this text. */
  readonly hasHelpers?: boolean;
}

/** Thrown inside: the text does something that cannot be followed. */
class Unsure extends Error {}

export function usedMembers(source: string, options: UsedMembersOptions = {}): Set<ContextMember> {
  const tokens = scriptTokens(source);
  if (tokens === undefined) return everything();
  try {
    return new MemberScan(tokens, options).members();
  } catch (error) {
    if (error instanceof Unsure) return everything();
    throw error;
  }
}

const everything = (): Set<ContextMember> => new Set(contextMembers);
const isMember = (name: string): name is ContextMember =>
  (contextMembers as readonly string[]).includes(name);

const opening: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "${": "}$" };
const closing = new Set(Object.values(opening));
const declares = new Set(["const", "let", "var"]);
const beforeMethod = new Set(
  ["async", "function", "static", "public", "protected", "override"].concat("{", "}", ";", "*"),
);

class MemberScan {
  readonly #tokens: readonly ScriptToken[];
  readonly #used = new Set<ContextMember>();
  readonly #handlers: readonly string[];
  readonly #kind: HandlerKind | undefined;
  readonly #isAlone: boolean;
  #declared: ReadonlySet<string> | undefined;

  constructor(tokens: readonly ScriptToken[], { kind, hasHelpers }: UsedMembersOptions) {
    this.#tokens = tokens;
    this.#kind = kind;
    this.#isAlone = hasHelpers === false;
    this.#handlers = kind === undefined ? handlerNames : [handlers[kind].handler];
  }

  members(): Set<ContextMember> {
    if (!this.#isAlone) this.#checkOrigins();
    let found = 0;
    for (const [at, { kind, text }] of this.#tokens.entries()) {
      if (!this.#handlers.includes(text)) continue;
      if (kind === "text") throw new Unsure();
      if (kind !== "name") continue;
      this.#handler(at);
      found += 1;
    }
    if (found === 0) throw new Unsure();
    return this.#used;
  }

  /** Handlers that are not in this text: inherited, or exported from elsewhere. */
  #checkOrigins(): void {
    for (const [at, token] of this.#tokens.entries()) {
      if (token.kind !== "name") continue;
      const next = this.#at(at + 1);
      if (token.text === "extends") {
        const base = next?.kind === "name" ? next.text : "";
        const isPlain = this.#is(at + 2, "{") || this.#at(at + 2)?.text === "implements";
        if (!isPlain || (base !== "ScriptBase" && !this.#declaresHere(base))) throw new Unsure();
      }
      if (token.text !== "export") continue;
      if (next?.text === "*") throw new Unsure();
      if (next?.text === "default" && !this.#exportsOwn(at + 2)) throw new Unsure();
    }
  }

  #exportsOwn(at: number): boolean {
    const { kind, text } = this.#at(at) ?? { kind: "mark", text: "" };
    if (kind === "mark") return text === "{";
    return ["class", "function", "async"].includes(text) || this.#declaresHere(text);
  }

  #declaresHere(name: string): boolean {
    this.#declared ??= new Set(
      this.#tokens.flatMap(({ kind, text }, at) =>
        kind === "name" && ["class", "function"].includes(this.#at(at - 1)?.text ?? "")
          ? [text]
          : [],
      ),
    );
    return this.#declared.has(name);
  }

  #handler(at: number): void {
    const before = this.#at(at - 1);
    if (this.#is(at + 1, "(")) {
      if (before !== undefined && !beforeMethod.has(before.text)) throw new Unsure();
      this.#function(this.#tokens[at]!.text, at + 1, "{");
      return;
    }
    const isField = this.#is(at + 1, "=") && before?.text !== "." && before?.text !== "?.";
    const isProperty = this.#is(at + 1, ":") && [",", "{"].includes(before?.text ?? "");
    if (!isField && !isProperty) throw new Unsure();
    this.#value(this.#tokens[at]!.text, at + 2);
  }

  /** `(context) => …`, `context => …` or `function (context) { … }`. */
  #value(handler: string, from: number): void {
    let at = from;
    if (this.#at(at)?.text === "async") at += 1;
    if (this.#at(at)?.text === "function") {
      at += 1;
      if (this.#is(at, "*")) at += 1;
      if (this.#at(at)?.kind === "name") at += 1;
      if (!this.#is(at, "(")) throw new Unsure();
      this.#function(handler, at, "{");
    } else if (this.#is(at, "(")) {
      this.#function(handler, at, "=>");
    } else if (this.#at(at)?.kind === "name" && this.#is(at + 1, "=>")) {
      this.#parameters(handler, [[at, at + 1]], this.#body(at + 2));
    } else {
      throw new Unsure();
    }
  }

  #function(handler: string, open: number, before: "{" | "=>"): void {
    const close = this.#closing(open);
    let at = close + 1;
    if (this.#is(at, ":")) at = this.#skipType(at + 1, before);
    if (!this.#is(at, before)) throw new Unsure();
    const body = this.#body(before === "{" ? at : at + 1);
    this.#parameters(handler, this.#split(open + 1, close), body);
  }

  /** To the body, past a return type without braces of its own. */
  #skipType(from: number, before: "{" | "=>"): number {
    for (let at = from; at < this.#tokens.length; at += 1) {
      if (at > from && this.#is(at, before)) {
        const angles = this.#tokens.slice(from, at).map(({ text }) => text);
        const depth = count(angles, "<") - count(angles, ">");
        if (depth !== 0) throw new Unsure();
        return at;
      }
      const { text } = this.#tokens[at]!;
      if (text === "{" || text === "(" || text === ";" || text === "=") throw new Unsure();
    }
    throw new Unsure();
  }

  /** From the first token of a body to behind its last. */
  #body(start: number): readonly [number, number] {
    if (this.#is(start, "{")) return [start, this.#closing(start) + 1];
    for (let at = start; at < this.#tokens.length; at += 1) {
      const { kind, text } = this.#tokens[at]!;
      if (kind !== "mark") continue;
      if (text in opening) at = this.#closing(at);
      else if ([",", ";"].includes(text) || closing.has(text)) return [start, at];
      // A typed field: what looked like a parameter list was a type.
      else if (text === "=") throw new Unsure();
    }
    return [start, this.#tokens.length];
  }

  #parameters(
    handler: string,
    all: readonly (readonly [number, number])[],
    [start, end]: readonly [number, number],
  ): void {
    if (this.#tokens.slice(start, end).some(({ text }) => text === "arguments")) throw new Unsure();
    // `this: ScriptBase` is for the compiler alone.
    const first = all[0];
    const isTyped = first !== undefined && this.#tokens[first[0]]?.text === "this";
    const parameters = isTyped ? all.slice(1) : all;
    for (const index of this.#contextIndexes(handler, parameters)) {
      const parameter = parameters[index];
      if (parameter === undefined) continue;
      this.#parameter(parameter, [parameter[0], end]);
    }
  }

  /** Where the context stands among the arguments of a handler of that name. */
  #contextIndexes(handler: string, parameters: readonly (readonly [number, number])[]): number[] {
    if (this.#kind !== undefined) {
      const { arguments: names } = handlers[this.#kind];
      return [(names as readonly string[]).indexOf("context")];
    }
    const indexes = Object.values(handlers)
      .filter((row) => row.handler === handler)
      .map((row) => (row.arguments as readonly string[]).indexOf("context"));
    const unique = [...new Set(indexes)];
    if (unique.length === 1) return unique;
    // InputHandler gets the task first, unless it belongs to a subflow. With two parameters, and a
    // first one that is called task, there is no doubt.
    const [first] = parameters;
    const isTask =
      parameters.length > 1 &&
      first !== undefined &&
      this.#tokens.slice(...first).some(({ text }) => /task/i.test(text));
    return isTask ? [1] : unique;
  }

  #parameter([start, end]: readonly [number, number], body: readonly [number, number]): void {
    const token = this.#tokens[start];
    if (this.#is(start, "{")) {
      const close = this.#closing(start);
      if (close + 1 !== end) this.#plainType(close + 1, end);
      this.#pattern(start, close);
      return;
    }
    if (token?.kind !== "name") throw new Unsure();
    this.#plainType(start + 1, end);
    this.#uses(token.text, start, body);
  }

  /** `: ScriptContext` or nothing. */
  #plainType(from: number, to: number): void {
    if (from === to) return;
    const at = this.#is(from, "?") ? from + 1 : from;
    const isPlain = this.#tokens
      .slice(at + 1, to)
      .every(({ kind, text }) => kind === "name" || [".", "|", "[", "]"].includes(text));
    if (at !== to && (!this.#is(at, ":") || !isPlain)) throw new Unsure();
  }

  #uses(name: string, declaredAt: number, [start, end]: readonly [number, number]): void {
    for (let at = start; at < end; at += 1) {
      const token = this.#tokens[at]!;
      if (at === declaredAt || token.kind !== "name" || token.text !== name) continue;
      const before = this.#at(at - 1)?.text ?? "";
      if (before === "." || before === "?.") continue;
      const isKey = (before === "{" || before === ",") && this.#is(at + 1, ":");
      if (!isKey) this.#use(at);
    }
  }

  #use(at: number): void {
    let next = this.#is(at + 1, "!") ? at + 2 : at + 1;
    const isOptional = this.#is(next, "?.");
    if (this.#is(next, ".") || (isOptional && this.#at(next + 1)?.kind === "name")) {
      this.#take(this.#at(next + 1));
      return;
    }
    if (isOptional) next += 1;
    if (this.#is(next, "[") && this.#at(next + 1)?.kind === "text" && this.#is(next + 2, "]")) {
      this.#take(this.#at(next + 1));
      return;
    }
    this.#destructured(at);
  }

  /** `const { Body, Headers: h } = context` as a statement of its own. */
  #destructured(at: number): void {
    const after = this.#at(at + 1);
    const endsStatement =
      after === undefined ||
      after.text === ";" ||
      after.text === "}" ||
      (after.startsLine && after.kind === "name");
    if (!endsStatement || !this.#is(at - 1, "=")) throw new Unsure();
    let close = at - 2;
    // Before the equals sign there may be the pattern's type.
    while (close > 0 && (this.#at(close)?.kind === "name" || this.#is(close, ":"))) close -= 1;
    if (!this.#is(close, "}")) throw new Unsure();
    const open = this.#openingOf(close);
    if (!declares.has(this.#at(open - 1)?.text ?? "")) throw new Unsure();
    this.#pattern(open, close);
  }

  #pattern(open: number, close: number): void {
    for (const [start, end] of this.#split(open + 1, close)) {
      if (start === end) continue;
      const token = this.#at(start);
      if (token?.kind !== "name" && token?.kind !== "text") throw new Unsure();
      this.#take(token);
    }
  }

  #take(token: ScriptToken | undefined): void {
    const name = token?.text ?? "";
    if (isMember(name)) this.#used.add(name);
    else if (Object.hasOwn(contextMethods, name)) {
      for (const member of contextMethods[name] ?? []) this.#used.add(member);
    } else throw new Unsure();
  }

  /** The stretches between commas; brackets are skipped as a whole. */
  #split(from: number, to: number): (readonly [number, number])[] {
    const parts: (readonly [number, number])[] = [];
    let start = from;
    for (let at = from; at < to; at += 1) {
      const { kind, text } = this.#tokens[at]!;
      if (kind !== "mark") continue;
      if (text in opening) at = this.#closing(at);
      else if (text === "<") throw new Unsure();
      else if (text === ",") {
        parts.push([start, at]);
        start = at + 1;
      }
    }
    if (start < to) parts.push([start, to]);
    return parts;
  }

  #closing(open: number): number {
    const expected: string[] = [];
    for (let at = open; at < this.#tokens.length; at += 1) {
      const { kind, text } = this.#tokens[at]!;
      if (kind !== "mark") continue;
      const end = opening[text];
      if (end !== undefined) expected.push(end);
      else if (closing.has(text)) {
        if (expected.pop() !== text) throw new Unsure();
        if (expected.length === 0) return at;
      }
    }
    throw new Unsure();
  }

  #openingOf(close: number): number {
    for (let at = close - 1; at >= 0; at -= 1) {
      if (this.#is(at, "{") && this.#closing(at) === close) return at;
    }
    throw new Unsure();
  }

  #at(index: number): ScriptToken | undefined {
    return this.#tokens[index];
  }

  #is(index: number, markText: string): boolean {
    const token = this.#tokens[index];
    return token?.kind === "mark" && token.text === markText;
  }
}

const count = (texts: readonly string[], wanted: string): number =>
  texts.filter((text) => text === wanted).length;
