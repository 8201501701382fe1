/**
 * Syntax tree to closures. Everything that depends on names is settled here: an unknown root, a
 * member that `context` does not list, a method that does not exist, a wrong number of arguments.
 */
import { compileChain } from "./compile-chain.ts";
import {
  compileConditional,
  compileOperation,
  compileShortCircuit,
  truth,
} from "./compile-operation.ts";
import { listed, type Compiled, type Compiler, type Step } from "./compiler.ts";
import { cast } from "./conversions.ts";
import { compileError } from "./expression-error.ts";
import { contextView } from "./expression-context.ts";
import { sha256, varyKey } from "./key-functions.ts";
import type { Kind } from "./kinds.ts";
import { isNumber } from "./numbers.ts";
import { staticTypes } from "./statics.ts";
import type {
  CastNode,
  FunctionCallNode,
  LiteralNode,
  NameNode,
  PrefixNode,
  SyntaxNode,
} from "./syntax-tree.ts";
import { describe, payForDigits } from "./values.ts";

export function createCompiler(source: string, keyFunctions: boolean): Compiler {
  const compiler: Compiler = {
    source,
    keyFunctions,
    node: (node) => compileNode(compiler, node),
    value(node) {
      const compiled = compileNode(compiler, node);
      if (compiled.view === undefined) return compiled;
      const members = listed([...compiled.view.values()].map(({ name }) => name));
      throw compiler.refusal(node.at, `This is not a value; its members are: ${members}.`);
    },
    refusal: (at, sentence) => compileError(source, at, sentence),
  };
  return compiler;
}

function compileNode(compiler: Compiler, node: SyntaxNode): Compiled {
  switch (node.type) {
    case "literal":
      return compileLiteral(node);
    case "name":
      return compileName(compiler, node);
    case "functionCall":
      return compileFunctionCall(compiler, node);
    case "array": {
      const items = node.items.map((item) => compiler.value(item).step);
      return { kind: "any", step: (run) => items.map((item) => item(run)) };
    }
    case "chain":
      return compileChain(compiler, node);
    case "prefix":
      return compilePrefix(compiler, node);
    case "cast":
      return compileCast(compiler, node);
    case "shortCircuit":
      return compileShortCircuit(compiler, node);
    case "operation":
      return compileOperation(compiler, node);
    default:
      return compileConditional(compiler, node);
  }
}

function compileLiteral({ value, integer }: LiteralNode): Compiled {
  const step = () => value;
  if (typeof value === "string") return { step, kind: "text" };
  if (typeof value === "boolean") return { step, kind: "bool" };
  if (value === null) return { step, kind: "any" };
  return { step, kind: integer ? "int" : "real" };
}

function compileName(compiler: Compiler, { name, at }: NameNode): Compiled {
  if (name === "context") return { step: (run) => run.context, kind: "any", view: contextView };
  if (staticTypes.has(name)) {
    throw compiler.refusal(at, `'${name}' is a type; one of its methods is needed here.`);
  }
  throw compiler.refusal(at, `Unknown name '${name}'. ${nameHint(name)}`);
}

function nameHint(name: string): string {
  const member = contextView.get(name.toLowerCase());
  if (member !== undefined) return `Write 'context.${member.name}'.`;
  return /^(?:DateTime|DateTimeOffset|TimeSpan)$/.test(name)
    ? "An expression has no clock; dates in ISO form compare as text."
    : "The only variable is 'context'.";
}

function compileFunctionCall(compiler: Compiler, node: FunctionCallNode): Compiled {
  const { name, args, at } = node;
  if (name !== "sha256" && name !== "varyKey") {
    throw compiler.refusal(at, `There is no function '${name}'.`);
  }
  if (!compiler.keyFunctions) {
    throw compiler.refusal(at, `'${name}' belongs to cache keys; a rule does not have it.`);
  }
  const [argument, ...others] = args;
  if (name === "sha256") {
    if (argument === undefined || others.length > 0) {
      throw compiler.refusal(at, "'sha256' takes one argument.");
    }
    const { step } = compiler.value(argument);
    return { kind: "text", step: placed(at, (run) => sha256(run, step(run))) };
  }
  // The public system writes varyKey(context); there is nothing else to give it.
  if (others.length > 0 || (argument && compiler.node(argument).view !== contextView)) {
    throw compiler.refusal(at, "'varyKey' takes no argument, or 'context'.");
  }
  return { kind: "text", step: placed(at, varyKey) };
}

const placed =
  (at: number, step: Step): Step =>
  (run) => {
    run.at = at;
    return step(run);
  };

function compilePrefix(compiler: Compiler, { operator, operand, at }: PrefixNode): Compiled {
  const { step, kind } = compiler.value(operand);
  if (operator === "!") return { kind: "bool", step: (run) => !truth(run, at, "!", step(run)) };
  const sign = operator === "-" ? -1 : 1;
  return {
    kind: kind === "int" ? "int" : "real",
    step(run) {
      const value = step(run);
      if (value === null) return null;
      run.at = at;
      payForDigits(run, value);
      if (isNumber(value)) return sign * Number(value);
      throw run.failure(`'${operator}' takes a number, not ${describe(value)}.`);
    },
  };
}

function compileCast(compiler: Compiler, { to, operand, at }: CastNode): Compiled {
  const { step } = compiler.value(operand);
  return {
    kind: castKinds[to],
    step(run) {
      const value = step(run);
      run.at = at;
      return cast(run, to, value);
    },
  };
}

const castKinds: Record<CastNode["to"], Kind> = {
  int: "int",
  long: "int",
  double: "real",
  float: "real",
  decimal: "real",
  string: "text",
  bool: "bool",
};
