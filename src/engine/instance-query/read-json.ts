/**
 * Reads the JSON of the list parameters. Not `JSON.parse`, for four reasons: comments and trailing
 * commas are tolerated here (wire contract §5.4); numbers keep their text, so 9007199254740993 and
 * 0.10 are compared as written; objects are maps, so `__proto__` is a name like any other; and a
 * member given twice is a mistake, where "the last one wins" would silently drop a condition.
 */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Json = string | boolean | null | NumberText | Json[] | JsonObject;
export type JsonObject = Map<string, Json>;

export const isObject = (value: Json | undefined): value is JsonObject => value instanceof Map;

export type ReadJson = { readonly value: Json } | { readonly error: string };

/** As deep as a request body may be (design §8). */
const maxDepth = 64;

const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** Where a text ends; what may stand inside it is left to `JSON.parse`. */
const stringPattern = /"(?:[^"\\]|\\.)*"/y;
const skipPattern = /(?:[ \t\r\n]+|\/\/[^\n\r]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*/y;

/** True for text that JSON would read as one number. */
export function isNumberText(text: string): boolean {
  numberPattern.lastIndex = 0;
  return numberPattern.exec(text)?.[0].length === text.length;
}

export function readJson(text: string): ReadJson {
  try {
    return { value: new Reader(text).document() };
  } catch (error) {
    if (error instanceof Mistake) return { error: error.message };
    throw error;
  }
}

/** Writes a value back as the text it was read from, numbers unchanged. */
export function writeJson(value: Json): string {
  if (value instanceof NumberText) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  if (isObject(value)) {
    const members = [...value].map(
      ([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`,
    );
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}

class Mistake extends Error {}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json {
    const value = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) throw this.#mistake("nothing more was expected");
    return value;
  }

  #value(depth: number): Json {
    if (depth > maxDepth) throw this.#mistake(`nested deeper than ${maxDepth}`);
    this.#skip();
    const next = this.#text[this.#at];
    if (next === "{") return this.#object(depth);
    if (next === "[") return this.#array(depth);
    if (next === '"') return this.#string();
    for (const [word, value] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ] as const) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    const number = this.#take(numberPattern);
    if (number === undefined || number === "") throw this.#mistake("a value was expected");
    return new NumberText(number);
  }

  #object(depth: number): JsonObject {
    const members: JsonObject = new Map();
    this.#at += 1;
    while (!this.#sees("}")) {
      const name = this.#string();
      if (members.has(name)) throw this.#mistake(`member '${name.slice(0, 60)}' is given twice`);
      if (!this.#sees(":")) throw this.#mistake("':' was expected");
      members.set(name, this.#value(depth + 1));
      if (this.#sees(",")) continue;
      if (!this.#sees("}", true)) throw this.#mistake("',' or '}' was expected");
    }
    return members;
  }

  #array(depth: number): Json[] {
    const elements: Json[] = [];
    this.#at += 1;
    while (!this.#sees("]")) {
      elements.push(this.#value(depth + 1));
      if (this.#sees(",")) continue;
      if (!this.#sees("]", true)) throw this.#mistake("',' or ']' was expected");
    }
    return elements;
  }

  #string(): string {
    this.#skip();
    const literal = this.#take(stringPattern);
    if (literal === undefined) throw this.#mistake("a text in double quotes was expected");
    try {
      return JSON.parse(literal) as string;
    } catch {
      throw this.#mistake("a text with an invalid escape or control character ends");
    }
  }

  /** Whether the next character is this one; it is consumed unless `peek`. */
  #sees(character: string, peek = false): boolean {
    this.#skip();
    if (this.#text[this.#at] !== character) return false;
    if (!peek) this.#at += 1;
    return true;
  }

  #skip(): void {
    this.#take(skipPattern);
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text)?.[0];
    if (match !== undefined) this.#at += match.length;
    return match;
  }

  #mistake(what: string): Mistake {
    return new Mistake(`${what} at character ${this.#at + 1}`);
  }
}
