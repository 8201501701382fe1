/**
 * JSON whose numbers come back as they were sent.
 *
 * A double holds 15 digits for sure. A literal that it would spell differently (9007199254740993,
 * 0.10, 1e400) is kept as an `ExactNumber`, which is its own text; every other number is a plain
 * `number`. The only freedom taken: an exponent may be written out (`1e5` → `100000`, `10e-1` → `1`)
 * and `-0` is `0`. jsonb writes exponents out too; what it gives back is read the same way again.
 *
 * The ordinary document stays on the built-in parser and writer:
 * - Reading: a search for such numbers decides. It may send a text the slow way for nothing ("costs
 *   1.10 today" inside a string), never the fast way wrongly.
 * - Writing: `ExactNumber.toJSON` throws, as a BigInt does, so JSON.stringify cannot lose digits
 *   unnoticed; `stringifyJson` catches that and writes by hand. No flag has to travel with the
 *   value, and no string that a user sends can pass for a number.
 *
 * Measured on two ARM cores, Node 20: the search adds 1.1 µs per KB to JSON.parse's 6 (8 % for
 * long member names, 24 % where a quarter of the members are decimals or instants, 100 % for an
 * array of nothing but decimals); writing adds nothing. The exact way takes four to six times as
 * long as the built-in one.
 *
 * Trees are read and written by recursion. What comes from outside is parsed with a `maxDepth`, and
 * `mergeData` never makes a tree deeper than its inputs.
 */

export type JsonValue = null | boolean | number | string | ExactNumber | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

/** Where the exact way stops when the caller sets no limit: its recursion must end somewhere. */
const defaultMaxDepth = 512;

/** A text that is not JSON (`syntax`), or is nested deeper than allowed (`depth`). */
export class JsonError extends SyntaxError {
  override readonly name = "JsonError";
  readonly reason: "syntax" | "depth";
  /** Offset in the text, from 0; the message has line and column. */
  readonly position: number;

  constructor(reason: "syntax" | "depth", message: string, position: number) {
    super(message);
    this.reason = reason;
    this.position = position;
  }
}

/** What JSON.stringify meets when it is given an exact number: see the head of this file. */
class ExactNumberInStringify extends TypeError {
  override readonly name = "ExactNumberInStringify";
}

/** A number that a double would spell differently. `text` is a JSON number literal. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    if (!numberLiteral.test(text)) {
      throw new JsonError("syntax", `'${excerpt(text)}' is not a JSON number.`, 0);
    }
    this.text = text;
  }

  /** The nearest double; ±Infinity beyond its range. */
  valueOf(): number {
    return Number(this.text);
  }

  toString(): string {
    return this.text;
  }

  toJSON(): never {
    throw new ExactNumberInStringify(
      `The number ${excerpt(this.text)} has digits that JSON.stringify would drop. Write the value with stringifyJson, or turn it into doubles with toPlain.`,
    );
  }
}

export const isExactNumber = (value: unknown): value is ExactNumber => value instanceof ExactNumber;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof ExactNumber);

/**
 * Sets a member as JSON.parse does: `__proto__` is a name like any other. Objects are plain ones
 * everywhere, and this is the one way to give them a member whose name comes from outside.
 */
export function setMember(object: JsonObject, name: string, value: JsonValue): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else {
    object[name] = value;
  }
}

/**
 * Reads a JSON text. Throws `JsonError` and nothing else.
 *
 * Give `maxDepth` for a text that comes from outside; it costs a walk over the result, 10 to 20 %
 * of the parsing. Texts that we wrote ourselves (read back from jsonb) need none.
 */
export function parseJson(text: string, maxDepth?: number): JsonValue {
  const isTooDeep = maxDepth !== undefined && text.length > longText && isNested(text, maxDepth);
  if (!isTooDeep && !mayHoldExactNumbers(text)) {
    const value = parseFast(text);
    if (value !== undefined && !isDeeperThan(value, maxDepth, text.length)) return value;
  }
  // Also the way of a text that is refused: the built-in parser does not say where it stumbled.
  return new Reader(text, maxDepth ?? defaultMaxDepth).document();
}

/** Longer ones are looked at before they are parsed: two million brackets take seconds to become lists. */
const longText = 65_536;

/** Whether a JSON text is nested deeper than so many levels, by its brackets alone. */
export function isNested(text: string, levels: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 92) i += 1;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 123 || code === 91) {
      depth += 1;
      if (depth > levels) return true;
    } else if (code === 125 || code === 93) depth -= 1;
  }
  return false;
}

/** Writes what JSON.stringify writes, with exact numbers as they came. */
export function stringifyJson(value: JsonValue | object): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof ExactNumberInStringify) return writeExactly(value) ?? "null";
    throw error;
  }
}

/** The number that a JSON literal means: a double when that spells it the same, else exact. */
export function numberFromLiteral(literal: string): number | ExactNumber {
  return isExactLiteral(literal) ? new ExactNumber(literal) : Number(literal);
}

/** Whether the whole text is one JSON number. */
export const isNumberLiteral = (text: string): boolean => numberLiteral.test(text);

/**
 * Same content, whatever the order of members. Numbers are the same when value and scale are: 1.10
 * is not 1.1, because a caller sees the difference; 1e21 is 1000000000000000000000.
 */
export function jsonEquals(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return canonicalNumber(a) === canonicalNumber(b);
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) && a.length === b.length && a.every((item, i) => jsonEquals(item, b[i]!))
    );
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && jsonEquals(a[name]!, b[name]!))
  );
}

/**
 * The value with doubles only, for schema validators and scripts. Shares everything that holds no
 * exact number; returns the value itself when there is none at all.
 */
export function toPlain(value: JsonValue): JsonValue {
  if (value instanceof ExactNumber) return value.valueOf();
  if (Array.isArray(value)) {
    const items = value.map(toPlain);
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  if (!isJsonObject(value)) return value;
  let plain = value;
  for (const name of Object.keys(value)) {
    const member = value[name]!;
    const plainMember = toPlain(member);
    if (plainMember === member) continue;
    if (plain === value) plain = { ...value };
    setMember(plain, name, plainMember);
  }
  return plain;
}

/**
 * One text per content, for hashing: members sorted by code unit, numbers by value and scale. Two
 * values have the same canonical text exactly when `jsonEquals` holds, also when one of them has
 * been through a jsonb column.
 */
export function canonicalText(value: JsonValue): string {
  if (isNumber(value)) return canonicalNumber(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonicalText(value[name]!)}`);
  return `{${members.join(",")}}`;
}

const isNumber = (value: JsonValue): value is number | ExactNumber =>
  typeof value === "number" || value instanceof ExactNumber;

const excerpt = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

// Numbers

const numberLiteral = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

function isExactLiteral(literal: string): boolean {
  const value = Number(literal);
  if (!/[eE]/.test(literal)) return String(value) !== literal && literal !== "-0";
  if (!Number.isFinite(value)) return true;
  // With an exponent the double may be spelled another way. A scale counts only where the sender
  // wrote decimals: 1.10e0 keeps it, 10e-1 is an exponent written out.
  const sent = decimalOf(literal);
  const held = decimalOf(String(value));
  return literal.includes(".")
    ? canonicalDecimal(sent) !== canonicalDecimal(held)
    : canonicalDecimal(withoutScale(sent)) !== canonicalDecimal(withoutScale(held));
}

/** coefficient × 10^-scale; the coefficient has no leading zeros and is empty for zero. */
interface Decimal {
  negative: boolean;
  coefficient: string;
  scale: number;
}

function decimalOf(literal: string): Decimal {
  const [, sign, whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(literal) ?? [];
  return {
    negative: sign === "-",
    coefficient: withoutLeadingZeros(whole + fraction),
    scale: fraction.length - Number(exponent),
  };
}

const withoutLeadingZeros = (digits: string): string => digits.replace(/^0+/, "");

function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end -= 1;
  return digits.slice(0, end);
}

function withoutScale(decimal: Decimal): Decimal {
  const coefficient = withoutTrailingZeros(decimal.coefficient);
  if (coefficient === "") return { negative: false, coefficient, scale: 0 };
  const dropped = decimal.coefficient.length - coefficient.length;
  return { ...decimal, coefficient, scale: decimal.scale - dropped };
}

/**
 * Equal for what jsonb keeps equal: the value, and how many decimals were written. Never longer
 * than what was sent by more than an exponent: 1e131000 is not written out.
 */
function canonicalDecimal(decimal: Decimal): string {
  const { negative, coefficient, scale } = decimal.scale > 0 ? decimal : withoutScale(decimal);
  const digits = coefficient === "" ? "0" : coefficient;
  const power = scale === 0 ? "" : `e${-scale}`;
  return `${negative && coefficient !== "" ? "-" : ""}${digits}${power}`;
}

function canonicalNumber(value: number | ExactNumber): string {
  const text = value instanceof ExactNumber ? value.text : JSON.stringify(value);
  // Most numbers are short integers: their own text is canonical unless it ends in a zero.
  if (/^(?:0|-?[1-9]|-?[1-9]\d*[1-9]|null)$/.test(text)) return text;
  const decimal = decimalOf(text);
  // An exponent beyond counting is compared as text; no store takes such a number anyway.
  return Number.isSafeInteger(decimal.scale) ? canonicalDecimal(decimal) : text;
}

// Which way a text takes

/**
 * Whether the text may hold a number that must be kept exactly: one of sixteen digits or more, one
 * with an exponent of three, or a decimal that ends in a zero, is long, or is tiny. Strings are not
 * told apart from the rest, since finding their ends costs more than the numbers inside them.
 *
 * The built-in searches do the walking, because a loop over charCodeAt costs half of JSON.parse.
 */
function mayHoldExactNumbers(text: string): boolean {
  // A number that is the whole document has no punctuation behind it for the searches to find.
  return isDigit(text.charCodeAt(text.length - 1)) || hasLongNumber(text) || hasDecimal(text);
}

// Eight digits spelled out, so that the search may skip ahead: five times as fast as \d{16}.
const longNumber = /\d(?:[eE][-+\d]\d\d\d*[,}\]\s]|\d\d\d\d\d\d\d\d{8})/;

function hasLongNumber(text: string): boolean {
  if (!longNumber.test(text)) return false;
  // Its own object, because a global search keeps its place in the pattern.
  const each = new RegExp(longNumber, "g");
  for (let hit = each.exec(text); hit !== null; hit = each.exec(text)) {
    const { exact, end } = judgeNumberAt(text, hit.index);
    if (exact) return true;
    each.lastIndex = end;
  }
  return false;
}

function hasDecimal(text: string): boolean {
  let next = 0;
  for (let point = text.indexOf("."); point !== -1; point = text.indexOf(".", next)) {
    next = point + 1;
    let last = text.charCodeAt(next);
    if (!isDigit(last)) continue;
    for (;;) {
      next += 1;
      const code = text.charCodeAt(next);
      if (!isDigit(code)) break;
      last = code;
    }
    // Up to six decimals, the last one not a zero, behind up to nine digits: nothing can be lost.
    // (A seventh decimal may make it so small that a double is spelled with an exponent.)
    if (last !== 48 && next - point <= 7 && !hasDigitsBefore(text, point, 10)) continue;
    const { exact, end } = judgeNumberAt(text, point);
    if (exact) return true;
    next = end;
  }
  return false;
}

function hasDigitsBefore(text: string, at: number, count: number): boolean {
  for (let i = at - count; i < at; i += 1) {
    if (!isDigit(text.charCodeAt(i))) return false;
  }
  return true;
}

/** The run of number characters around an offset: where it ends, and whether it must be exact. */
function judgeNumberAt(text: string, at: number): { exact: boolean; end: number } {
  let start = at;
  while (isNumberCode(text.charCodeAt(start - 1))) start -= 1;
  let end = at + 1;
  while (isNumberCode(text.charCodeAt(end))) end += 1;
  if (!standsAlone(text, start, end)) return { exact: false, end };
  const token = text.slice(start, end);
  return { exact: numberLiteral.test(token) && isExactLiteral(token), end };
}

/** A number in JSON has punctuation, white space or an end of the text on either side. */
function standsAlone(text: string, start: number, end: number): boolean {
  const before = text.charAt(start - 1);
  const after = text.charAt(end);
  return ":,[ \n\r\t".includes(before) && ",}] \n\r\t".includes(after);
}

const isDigit = (code: number): boolean => code <= 57 && code >= 48;

const isNumberCode = (code: number): boolean =>
  isDigit(code) || code === 46 || code === 45 || code === 43 || code === 101 || code === 69;

const isSpaceCode = (code: number): boolean =>
  code === 32 || code === 10 || code === 13 || code === 9;

function parseFast(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Each level needs two brackets, so a text shorter than that need not be walked. */
function isDeeperThan(value: JsonValue, levels: number | undefined, textLength: number): boolean {
  return levels !== undefined && textLength > 2 * levels && hasMoreLevels(value, levels);
}

function hasMoreLevels(value: JsonValue, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    // By index: an iterator makes a long list of numbers cost twice its parsing.
    for (let i = 0; i < value.length; i += 1) {
      const item = value[i]!;
      if (typeof item === "object" && item !== null && hasMoreLevels(item, levels - 1)) return true;
    }
    return false;
  }
  // Fresh from JSON.parse: own members only, and `for in` is the cheapest walk over them.
  for (const name in value as JsonObject) {
    const member = (value as JsonObject)[name]!;
    if (typeof member === "object" && member !== null && hasMoreLevels(member, levels - 1)) {
      return true;
    }
  }
  return false;
}

// The exact way

/** A recursive-descent reader of the JSON grammar (RFC 8259); recursion ends at `maxDepth`. */
class Reader {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): JsonValue {
    const value = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#unexpected("the end of the text");
    return value;
  }

  #value(depth: number): JsonValue {
    this.#skipSpace();
    const code = this.#text.charCodeAt(this.#at);
    switch (code) {
      case 123:
        return this.#object(this.#deeper(depth));
      case 91:
        return this.#array(this.#deeper(depth));
      case 34:
        return this.#string();
      case 116:
        return this.#word("true", true);
      case 102:
        return this.#word("false", false);
      case 110:
        return this.#word("null", null);
      default:
        if (code === 45 || isDigit(code)) return this.#number();
        throw this.#unexpected("a value");
    }
  }

  #deeper(depth: number): number {
    if (depth < this.#maxDepth) return depth + 1;
    throw new JsonError(
      "depth",
      `The JSON text is nested deeper than ${this.#maxDepth} levels at ${this.#place()}. Send a flatter document.`,
      this.#at,
    );
  }

  #object(depth: number): JsonObject {
    const object: JsonObject = {};
    this.#at += 1;
    this.#skipSpace();
    if (this.#take(125)) return object;
    for (;;) {
      this.#skipSpace();
      if (this.#text.charCodeAt(this.#at) !== 34) throw this.#unexpected("a member name in quotes");
      const name = this.#string();
      this.#skipSpace();
      if (!this.#take(58)) throw this.#unexpected("':'");
      setMember(object, name, this.#value(depth));
      this.#skipSpace();
      if (this.#take(125)) return object;
      if (!this.#take(44)) throw this.#unexpected("',' or '}'");
    }
  }

  #array(depth: number): JsonValue[] {
    const array: JsonValue[] = [];
    this.#at += 1;
    this.#skipSpace();
    if (this.#take(93)) return array;
    for (;;) {
      array.push(this.#value(depth));
      this.#skipSpace();
      if (this.#take(93)) return array;
      if (!this.#take(44)) throw this.#unexpected("',' or ']'");
    }
  }

  #string(): string {
    const start = this.#at;
    let escaped = false;
    this.#at += 1;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === 34) break;
      if (code === 92) {
        escaped = true;
        this.#escape();
      } else if (code < 32 || Number.isNaN(code)) {
        throw this.#unexpected(
          "'\"' or a character (control characters are escaped: \\n, \\u0000)",
        );
      } else {
        this.#at += 1;
      }
    }
    this.#at += 1;
    return escaped
      ? (JSON.parse(this.#text.slice(start, this.#at)) as string)
      : this.#text.slice(start + 1, this.#at - 1);
  }

  #escape(): void {
    this.#at += 1;
    const kind = this.#text.charAt(this.#at);
    if (kind === "" || !'"\\/bfnrtu'.includes(kind)) {
      throw this.#unexpected('one of " \\ / b f n r t u after the backslash');
    }
    this.#at += 1;
    if (kind !== "u") return;
    for (let i = 0; i < 4; i += 1) {
      if (!/^[0-9a-fA-F]$/.test(this.#text.charAt(this.#at))) {
        throw this.#unexpected("four hexadecimal digits after \\u");
      }
      this.#at += 1;
    }
  }

  #number(): number | ExactNumber {
    const start = this.#at;
    this.#take(45);
    if (!this.#take(48)) this.#digits();
    if (this.#take(46)) this.#digits();
    if (this.#take(101) || this.#take(69)) {
      if (!this.#take(43)) this.#take(45);
      this.#digits();
    }
    return numberFromLiteral(this.#text.slice(start, this.#at));
  }

  #digits(): void {
    if (!isDigit(this.#text.charCodeAt(this.#at))) throw this.#unexpected("a digit");
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  #word<Value extends JsonValue>(word: string, value: Value): Value {
    for (const letter of word) {
      if (this.#text.charAt(this.#at) !== letter) throw this.#unexpected(`'${word}'`);
      this.#at += 1;
    }
    return value;
  }

  #take(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false;
    this.#at += 1;
    return true;
  }

  #skipSpace(): void {
    while (isSpaceCode(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  #unexpected(expected: string): JsonError {
    const code = this.#text.codePointAt(this.#at);
    const found =
      code === undefined ? "the text ends" : `found ${JSON.stringify(String.fromCodePoint(code))}`;
    return new JsonError(
      "syntax",
      `Not valid JSON at ${this.#place()}: expected ${expected}, ${found}.`,
      this.#at,
    );
  }

  #place(): string {
    const before = this.#text.slice(0, this.#at);
    const lineStart = before.lastIndexOf("\n") + 1;
    const line = before.split("\n").length;
    return `line ${line}, column ${this.#at - lineStart + 1}`;
  }
}

/** JSON.stringify's rules by hand: what JSON cannot say is left out, or null in an array. */
function writeExactly(value: unknown): string | undefined {
  if (value instanceof ExactNumber) return value.text;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return writeExactly(value.toJSON(""));
  }
  if (Array.isArray(value)) {
    return `[${value.map((item) => writeExactly(item) ?? "null").join(",")}]`;
  }
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const text = writeExactly(member);
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
