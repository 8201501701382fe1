import { XPathException } from "../../errors.ts";
import { qualifiedNameSource } from "../names.ts";

export interface Token {
  /** `operator` covers brackets and separators too. */
  readonly kind: "number" | "literal" | "name" | "operator" | "end";
  readonly text: string;
  readonly at: number;
}

const pattern = new RegExp(
  [
    "[ \\t\\r\\n]+",
    "(\\d+(?:\\.\\d*)?|\\.\\d+)",
    "\"([^\"]*)\"|'([^']*)'",
    `(${qualifiedNameSource}(?::\\*)?)`,
    "(::|//|!=|<=|>=|\\.\\.|[()[\\].@,/|+\\-=<>*$])",
  ].join("|"),
  "y",
);

const wordOperators = new Set(["and", "or", "div", "mod"]);

export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  pattern.lastIndex = 0;
  while (pattern.lastIndex < source.length) {
    const at = pattern.lastIndex;
    const found = pattern.exec(source);
    if (found === null) {
      throw new XPathException(`'${source}' has an invalid token at ${at + 1}.`);
    }
    const [, number, double, single, name, operator] = found;
    if (number !== undefined) tokens.push({ kind: "number", text: number, at });
    else if (double !== undefined || single !== undefined) {
      tokens.push({ kind: "literal", text: double ?? single ?? "", at });
    } else if (operator !== undefined) {
      tokens.push({ kind: "operator", text: operator === "*" ? star(tokens) : operator, at });
    } else if (name !== undefined) {
      // `a::b` is an axis and a name, not a name with two colons.
      const isOperator = wordOperators.has(name) && endsOperand(tokens.at(-1));
      tokens.push({ kind: isOperator ? "operator" : "name", text: name, at });
    }
  }
  tokens.push({ kind: "end", text: "", at: source.length });
  return tokens;
}

/** After an operand a star multiplies; elsewhere it is the test for any name. */
const star = (tokens: readonly Token[]): string => (endsOperand(tokens.at(-1)) ? "multiply" : "*");

function endsOperand(token: Token | undefined): boolean {
  if (token === undefined || token.kind === "end") return false;
  return token.kind !== "operator" || [")", "]", ".", "..", "*"].includes(token.text);
}
