/**
 * The words of a JavaScript or TypeScript text, for questions that need no grammar. Says `undefined`
 * rather than guess: where a slash may divide or open a regular expression, and at anything odd.
 */
export interface ScriptToken {
  /** `operand` is a number, a regular expression or the end of a template. */
  readonly kind: "name" | "text" | "operand" | "mark";
  /** A text's content as written, without its quotes. */
  readonly text: string;
  readonly startsLine: boolean;
}

const space = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const name = /[#@]?[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const number = /0[xXbBoO][\da-fA-F_]+n?|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?n?/y;
const text = /"((?:[^"\\\n]|\\[\s\S])*)"|'((?:[^'\\\n]|\\[\s\S])*)'/y;
const mark =
  /=>|===?|!==?|\?\.(?!\d)|\?\?=?|\.\.\.|&&=?|\|\|=?|\+\+|--|\*\*=?|[-+*/%&|^<>]=?|[{}()[\];,!~?:=.]/y;
const regex = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const templateText = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;

/** After these words an expression begins, so a slash opens a regular expression. */
const beforeExpression = new Set(
  "return typeof case in of delete void throw new instanceof do else await yield".split(" "),
);

export function scriptTokens(source: string): ScriptToken[] | undefined {
  const reader = new TokenReader(source);
  return reader.read() ? reader.tokens : undefined;
}

class TokenReader {
  readonly tokens: ScriptToken[] = [];
  readonly #source: string;
  #at = 0;
  #startsLine = true;
  /** Open braces; true for one that a template opened. */
  readonly #braces: boolean[] = [];

  constructor(source: string) {
    this.#source = source.replace(/^\uFEFF/, "").replace(/^#!.*/, "");
  }

  /** False when the text is not understood. */
  read(): boolean {
    while (this.#at < this.#source.length) if (!this.#next()) return false;
    return this.#braces.length === 0;
  }

  #next(): boolean {
    const gap = this.#match(space);
    if (gap !== undefined) {
      this.#startsLine ||= gap[0].includes("\n");
      return true;
    }
    const letter = this.#source.charAt(this.#at);
    if (letter === "`") return this.#template(this.#at + 1);
    if (letter === "}" && this.#braces.at(-1) === true) return this.#endOfHole();
    if (letter === "/") return this.#slash();
    const found =
      this.#token("name", name) || this.#token("operand", number) || this.#token("text", text);
    return found || this.#mark();
  }

  #mark(): boolean {
    const found = this.#match(mark)?.[0];
    if (found === undefined) return false;
    if (found === "{") this.#braces.push(false);
    if (found === "}" && this.#braces.pop() !== false) return false;
    this.#push("mark", found);
    return true;
  }

  #slash(): boolean {
    const before = this.tokens.at(-1);
    if (before?.kind === "mark" && [")", "}"].includes(before.text)) {
      // `(a + b) / c` or `if (a) /b/.test(c)`: only a second slash could make it the latter.
      const end = this.#source.indexOf("\n", this.#at);
      const rest = this.#source.slice(this.#at + 1, end === -1 ? undefined : end);
      return !rest.includes("/") && this.#mark();
    }
    const divides =
      before !== undefined &&
      (before.kind === "mark"
        ? ["]", "++", "--"].includes(before.text)
        : before.kind !== "name" || !beforeExpression.has(before.text));
    return divides ? this.#mark() : this.#token("operand", regex);
  }

  #template(from: number): boolean {
    templateText.lastIndex = from;
    this.#at = from + (templateText.exec(this.#source)?.[0].length ?? 0);
    if (this.#source.startsWith("${", this.#at)) {
      this.#at += 2;
      this.#braces.push(true);
      this.#push("mark", "${");
      return true;
    }
    if (this.#source.charAt(this.#at) !== "`") return false;
    this.#at += 1;
    this.#push("operand", "`");
    return true;
  }

  #endOfHole(): boolean {
    this.#braces.pop();
    this.#push("mark", "}$");
    return this.#template(this.#at + 1);
  }

  #token(kind: ScriptToken["kind"], pattern: RegExp): boolean {
    const found = this.#match(pattern);
    if (found === undefined) return false;
    this.#push(kind, kind === "text" ? (found[1] ?? found[2] ?? "") : found[0]);
    return true;
  }

  #push(kind: ScriptToken["kind"], content: string): void {
    this.tokens.push({ kind, text: content, startsLine: this.#startsLine });
    this.#startsLine = false;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }
}
