/** Tokens to syntax tree: recursive descent, with the operators' precedence in a table. */
import { compileError, type ExpressionError } from "./expression-error.ts";
import {
  castTypes,
  shortCircuitOperators,
  valueOperators,
  type CastType,
  type ConditionalNode,
  type Link,
  type MemberLink,
  type MethodLink,
  type OperationPart,
  type SyntaxNode,
  type ValueOperator,
} from "./syntax-tree.ts";
import { tokenize, type Token } from "./tokenize.ts";

export const maxNesting = 100;

export function parse(source: string): SyntaxNode {
  return new Parser(source).whole();
}

class Parser {
  readonly #source: string;
  readonly #tokens: Token[];
  #next = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = tokenize(source);
  }

  whole(): SyntaxNode {
    const node = this.#expression();
    if (this.#peek().kind !== "end") throw this.#unexpected("an operator or the end");
    return node;
  }

  #expression(): SyntaxNode {
    return this.#deeper(() => this.#conditional());
  }

  #conditional(): SyntaxNode {
    const at = this.#peek().at;
    const cases: ConditionalNode["cases"][number][] = [];
    let node = this.#shortCircuit(0);
    while (this.#take("?")) {
      const value = this.#expression();
      this.#expect(":");
      cases.push({ when: node, value });
      node = this.#shortCircuit(0);
    }
    return cases.length === 0 ? node : { type: "conditional", at, cases, otherwise: node };
  }

  #shortCircuit(index: number): SyntaxNode {
    const operator = shortCircuitOperators[index];
    if (operator === undefined) return this.#row(0);
    const first = this.#shortCircuit(index + 1);
    const operands = [first];
    while (this.#take(operator)) operands.push(this.#shortCircuit(index + 1));
    return operands.length === 1
      ? first
      : { type: "shortCircuit", at: first.at, operator, operands };
  }

  #row(index: number): SyntaxNode {
    const operators: readonly ValueOperator[] | undefined = valueOperators[index];
    if (operators === undefined) return this.#prefixed();
    const first = this.#row(index + 1);
    const rest: OperationPart[] = [];
    for (;;) {
      const { at } = this.#peek();
      const operator = operators.find((sign) => this.#take(sign));
      if (operator === undefined) break;
      rest.push({ at, operator, operand: this.#row(index + 1) });
    }
    return rest.length === 0 ? first : { type: "operation", at: first.at, first, rest };
  }

  #prefixed(): SyntaxNode {
    const { at } = this.#peek();
    for (const operator of ["!", "-", "+"] as const) {
      if (this.#take(operator)) {
        const operand = this.#deeper(() => this.#prefixed());
        return { type: "prefix", at, operator, operand };
      }
    }
    const to = this.#castAhead();
    if (to === undefined) return this.#chain();
    this.#next += 3;
    return { type: "cast", at, to, operand: this.#deeper(() => this.#prefixed()) };
  }

  /** `(int)` and its like; the type names are keywords, so that nothing else can be meant. */
  #castAhead(): CastType | undefined {
    const [open, type, close] = this.#tokens.slice(this.#next, this.#next + 3);
    if (!isSign(open, "(") || !isSign(close, ")") || type?.kind !== "name") return undefined;
    return castTypes.find((name) => name === type.text);
  }

  #chain(): SyntaxNode {
    const base = this.#primary();
    const links: Link[] = [];
    for (let link = this.#link(); link !== undefined; link = this.#link()) links.push(link);
    return links.length === 0 ? base : { type: "chain", at: base.at, base, links };
  }

  #link(): Link | undefined {
    const receiverEnd = this.#tokens[this.#next - 1]?.end ?? 0;
    if (this.#take("?.")) return this.#named(receiverEnd, true);
    if (this.#take(".")) return this.#named(receiverEnd, false);
    const { at } = this.#peek();
    const optional = this.#take("?[");
    if (!optional && !this.#take("[")) return undefined;
    const index = this.#expression();
    this.#expect("]");
    return { type: "index", at, optional, receiverEnd, index };
  }

  #named(receiverEnd: number, optional: boolean): MemberLink | MethodLink {
    const token = this.#peek();
    if (token.kind !== "name") throw this.#unexpected("a member name");
    this.#next += 1;
    const place = { at: token.at, optional, receiverEnd, name: token.text };
    if (!this.#take("(")) return { type: "member", ...place };
    return { type: "method", ...place, args: this.#list(")") };
  }

  #primary(): SyntaxNode {
    const token = this.#peek();
    const { at } = token;
    this.#next += 1;
    if (token.kind === "number") {
      return { type: "literal", at, value: token.value, integer: token.integer };
    }
    if (token.kind === "text") return { type: "literal", at, value: token.value, integer: false };
    if (token.kind === "name") return this.#word(token.text, at);
    if (isSign(token, "(")) {
      const inner = this.#expression();
      this.#expect(")");
      // A chain in brackets is a value of its own: `(a?.b).c` goes on where `a?.b.c` has ended.
      return inner.type === "chain" ? { type: "chain", at, base: inner, links: [] } : inner;
    }
    this.#next -= 1;
    throw this.#unexpected("a value");
  }

  #word(word: string, at: number): SyntaxNode {
    if (word === "true") return { type: "literal", at, value: true, integer: false };
    if (word === "false") return { type: "literal", at, value: false, integer: false };
    if (word === "null") return { type: "literal", at, value: null, integer: false };
    if (word === "new") return this.#array(at);
    if (this.#take("(")) return { type: "functionCall", at, name: word, args: this.#list(")") };
    return { type: "name", at, name: word };
  }

  #array(at: number): SyntaxNode {
    if (this.#peek().kind === "name") this.#next += 1;
    if (!this.#take("[") || !this.#take("]") || !this.#take("{")) {
      throw compileError(this.#source, at, "'new' makes arrays only: new[] { a, b }.");
    }
    return { type: "array", at, items: this.#list("}") };
  }

  #list(close: string): SyntaxNode[] {
    const items: SyntaxNode[] = [];
    if (this.#take(close)) return items;
    do items.push(this.#expression());
    while (this.#take(","));
    this.#expect(close);
    return items;
  }

  #deeper(read: () => SyntaxNode): SyntaxNode {
    this.#depth += 1;
    if (this.#depth > maxNesting) {
      const sentence = `The expression is nested deeper than ${maxNesting} levels.`;
      throw compileError(this.#source, this.#peek().at, sentence);
    }
    const node = read();
    this.#depth -= 1;
    return node;
  }

  #peek(): Token {
    // The last token is the end, and nothing steps over it.
    return this.#tokens[this.#next]!;
  }

  #take(sign: string): boolean {
    if (!isSign(this.#peek(), sign)) return false;
    this.#next += 1;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw this.#unexpected(`'${sign}'`);
  }

  #unexpected(expected: string): ExpressionError {
    const { at, end, kind } = this.#peek();
    const found = kind === "end" ? "the expression ends" : `found ${this.#source.slice(at, end)}`;
    return compileError(this.#source, at, `Expected ${expected}, ${found}.`);
  }
}

const isSign = (token: Token | undefined, sign: string): boolean =>
  token?.kind === "sign" && token.text === sign;
