import { limits } from "../../../contract.ts";
import { XPathException } from "../../errors.ts";
import { splitName } from "../names.ts";
import {
  axes,
  type Axis,
  type BinaryOperator,
  type Expression,
  isPositional,
  type NodeTest,
  type Step,
} from "./syntax.ts";
import { type Token, tokenize } from "./tokenize.ts";

/** Binary operators from the weakest to the strongest; unary minus and union come after them. */
const levels: readonly (readonly BinaryOperator[])[] = [
  ["or"],
  ["and"],
  ["=", "!="],
  ["<", "<=", ">", ">="],
  ["+", "-"],
  ["*", "div", "mod"],
];

const nodeTypes = ["text", "node", "comment", "processing-instruction"] as const;

const anyNode: Step = step("descendant-or-self", { kind: "node" }, []);

const deepest = 64;

export function parseExpression(source: string): Expression {
  if (source.length > limits.xpathLength) {
    throw new XPathException(`An XPath expression can have ${limits.xpathLength} characters.`);
  }
  return new ExpressionParser(source).parse();
}

class ExpressionParser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = tokenize(source);
  }

  parse(): Expression {
    const expression = this.#expression();
    if (this.#token.kind !== "end") throw this.#wrong();
    return expression;
  }

  get #token(): Token {
    return this.#tokens[this.#at]!;
  }

  #expression(): Expression {
    this.#depth += 1;
    if (this.#depth > deepest) throw new XPathException("The XPath expression is nested too deep.");
    const expression = this.#binary(0);
    this.#depth -= 1;
    return expression;
  }

  #binary(level: number): Expression {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (let operator = this.#oneOf(operators); operator; operator = this.#oneOf(operators)) {
      left = { kind: "binary", operator, left, right: this.#binary(level + 1) };
    }
    return left;
  }

  #oneOf(operators: readonly BinaryOperator[]): BinaryOperator | undefined {
    const { kind, text } = this.#token;
    if (kind !== "operator") return undefined;
    const found = operators.find((operator) => (operator === "*" ? "multiply" : operator) === text);
    if (found !== undefined) this.#at += 1;
    return found;
  }

  #unary(): Expression {
    let isNegative = false;
    let isNumber = false;
    while (this.#take("-")) {
      isNegative = !isNegative;
      isNumber = true;
    }
    const operand = this.#union();
    if (!isNumber) return operand;
    const negated: Expression = { kind: "negate", operand };
    return isNegative ? negated : { kind: "negate", operand: negated };
  }

  #union(): Expression {
    let left = this.#path();
    while (this.#take("|")) {
      left = { kind: "binary", operator: "|", left, right: this.#path() };
    }
    return left;
  }

  #path(): Expression {
    if (this.#startsPrimary()) return this.#filterPath();
    if (this.#take("//")) {
      return { kind: "path", start: "root", steps: this.#steps([anyNode]) };
    }
    if (this.#take("/")) {
      return { kind: "path", start: "root", steps: this.#startsStep() ? this.#steps([]) : [] };
    }
    return { kind: "path", start: "context", steps: this.#steps([]) };
  }

  #filterPath(): Expression {
    const primary = this.#primary();
    const predicates = this.#predicates();
    const base: Expression =
      predicates.length === 0 ? primary : { kind: "filter", base: primary, predicates };
    if (this.#take("//")) return { kind: "path", start: base, steps: this.#steps([anyNode]) };
    if (this.#take("/")) return { kind: "path", start: base, steps: this.#steps([]) };
    return base;
  }

  #startsPrimary(): boolean {
    const { kind, text } = this.#token;
    if (kind === "number" || kind === "literal" || (kind === "operator" && text === "("))
      return true;
    return kind === "name" && this.#next("(") && !nodeTypes.some((type) => type === text);
  }

  #primary(): Expression {
    const { kind, text } = this.#token;
    this.#at += 1;
    if (kind === "number") return { kind, value: Number(text) };
    if (kind === "literal") return { kind, value: text };
    if (kind === "operator") {
      const inner = this.#expression();
      this.#expect(")");
      return inner;
    }
    this.#expect("(");
    const args: Expression[] = [];
    if (!this.#take(")")) {
      do args.push(this.#expression());
      while (this.#take(","));
      this.#expect(")");
    }
    return { kind: "call", name: text, args };
  }

  #startsStep(): boolean {
    const { kind, text } = this.#token;
    return kind === "name" || (kind === "operator" && ["*", "@", ".", ".."].includes(text));
  }

  #steps(before: readonly Step[]): Step[] {
    const steps = [...before];
    for (;;) {
      append(steps, this.#step());
      if (this.#take("//")) steps.push(anyNode);
      else if (!this.#take("/")) return steps;
    }
  }

  #step(): Step {
    if (this.#take(".")) return step("self", { kind: "node" }, []);
    if (this.#take("..")) return step("parent", { kind: "node" }, []);
    const axis = this.#axis();
    return step(axis, this.#nodeTest(), this.#predicates());
  }

  #axis(): Axis {
    if (this.#take("@")) return "attribute";
    if (this.#token.kind !== "name" || !this.#next("::")) return "child";
    const axis = axes.find((known) => known === this.#token.text);
    if (axis === undefined) {
      throw new XPathException(`The axis '${this.#token.text}' is not supported.`);
    }
    this.#at += 2;
    return axis;
  }

  #nodeTest(): NodeTest {
    if (this.#take("*")) return { kind: "name", prefix: null, local: "" };
    const { kind, text } = this.#token;
    if (kind !== "name") throw this.#wrong();
    this.#at += 1;
    const type = nodeTypes.find((known) => known === text);
    if (type !== undefined && this.#take("(")) {
      this.#expect(")");
      return { kind: type };
    }
    const { prefix, local } = splitName(text);
    return { kind: "name", prefix, local: local === "*" ? "" : local };
  }

  #predicates(): Expression[] {
    const predicates: Expression[] = [];
    while (this.#take("[")) {
      predicates.push(this.#expression());
      this.#expect("]");
    }
    return predicates;
  }

  #next(text: string): boolean {
    const token = this.#tokens[this.#at + 1];
    return token?.kind === "operator" && token.text === text;
  }

  #take(text: string): boolean {
    if (this.#token.kind !== "operator" || this.#token.text !== text) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#wrong();
  }

  #wrong(): XPathException {
    const { kind, at } = this.#token;
    const where = kind === "end" ? "ends too early" : `has an invalid token at ${at + 1}`;
    return new XPathException(`'${this.#source}' ${where}.`);
  }
}

function step(axis: Axis, test: NodeTest, predicates: readonly Expression[]): Step {
  return { axis, test, predicates, isPositional: predicates.some(isPositional) };
}

/** `//name` walks the tree once, where its two steps would gather every node first. */
function append(steps: Step[], next: Step): void {
  if (steps.at(-1) === anyNode && next.axis === "child" && !next.isPositional) {
    steps[steps.length - 1] = { ...next, axis: "descendant" };
  } else {
    steps.push(next);
  }
}
