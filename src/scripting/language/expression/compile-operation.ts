/** Binary operators and `? :`. A row of equal precedence is a loop, so a long rule is not deep. */
import type { Compiled, Compiler } from "./compiler.ts";
import type { Evaluation } from "./evaluation.ts";
import { commonKind } from "./kinds.ts";
import { operations } from "./operators.ts";
import type {
  ConditionalNode,
  OperationNode,
  OperationPart,
  ShortCircuitNode,
} from "./syntax-tree.ts";
import { describe } from "./values.ts";

export function compileOperation(compiler: Compiler, { first, rest }: OperationNode): Compiled {
  // `context.Instance != null` is the one question that a part of the context may be asked.
  const take = rest.some(isEquality) ? compiler.node : compiler.value;
  const start = take(first);
  let { kind } = start;
  const parts = rest.map(({ operator, operand, at }) => {
    const right = take(operand);
    const { apply, kind: resultKind } = operations[operator](kind, right.kind);
    kind = resultKind;
    return { at, step: right.step, apply };
  });
  const [only] = parts;
  if (only !== undefined && parts.length === 1) {
    return {
      kind,
      step(run) {
        const left = start.step(run);
        const right = only.step(run);
        run.at = only.at;
        return only.apply(run, left, right);
      },
    };
  }
  return {
    kind,
    step(run) {
      let value = start.step(run);
      for (const part of parts) {
        const right = part.step(run);
        run.at = part.at;
        value = part.apply(run, value, right);
      }
      return value;
    },
  };
}

const isEquality = ({ operator }: OperationPart): boolean => operator === "==" || operator === "!=";

export function compileShortCircuit(compiler: Compiler, node: ShortCircuitNode): Compiled {
  const { operator } = node;
  const operands = node.operands.map((operand) => ({
    at: operand.at,
    ...compiler.value(operand),
  }));
  if (operator === "??") return coalesce(operands);
  const decides = operator === "||";
  return {
    kind: "bool",
    step(run) {
      for (const { step, at } of operands) {
        if (truth(run, at, operator, step(run)) === decides) return decides;
      }
      return !decides;
    },
  };
}

function coalesce(operands: readonly Compiled[]): Compiled {
  return {
    kind: commonKind(operands.map(({ kind }) => kind)),
    step(run) {
      for (const { step } of operands) {
        const value = step(run);
        if (value !== null) return value;
      }
      return null;
    },
  };
}

export function compileConditional(compiler: Compiler, node: ConditionalNode): Compiled {
  const cases = node.cases.map(({ when, value }) => ({
    at: when.at,
    when: compiler.value(when).step,
    value: compiler.value(value),
  }));
  const otherwise = compiler.value(node.otherwise);
  return {
    kind: commonKind([...cases.map(({ value }) => value.kind), otherwise.kind]),
    step(run) {
      for (const { at, when, value } of cases) {
        if (truth(run, at, "?", when(run))) return value.step(run);
      }
      return otherwise.step(run);
    },
  };
}

/** No truthiness, as in C#: a missing flag is asked for with `== true`. */
export function truth(run: Evaluation, at: number, operator: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  run.at = at;
  const hint = value === null ? " Compare it: == true." : "";
  throw run.failure(`'${operator}' takes a boolean, not ${describe(value)}.${hint}`);
}
