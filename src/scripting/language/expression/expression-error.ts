/** Where in the source something stands; both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/**
 * The one thing the expression language throws.
 *
 * compile     the text is not an expression of this language; known at publish
 * evaluation  it met values it cannot work with; a failed rule
 *
 * The message has the place in it, so that it can be shown alone.
 */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
  readonly phase: "compile" | "evaluation";
  readonly line: number;
  readonly column: number;

  constructor(
    phase: "compile" | "evaluation",
    message: string,
    place: Place,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.phase = phase;
    this.line = place.line;
    this.column = place.column;
  }
}

export function compileError(source: string, at: number, sentence: string): ExpressionError {
  const place = placeOf(source, at);
  return new ExpressionError("compile", `${sentence} ${spelled(place)}`, place);
}

/** The text's beginning is the public system's own (scripting contract, expression rules). */
export function evaluationError(
  source: string,
  at: number,
  sentence: string,
  options?: ErrorOptions,
): ExpressionError {
  const place = placeOf(source, at);
  const message = `Dynamic Expresso evaluation failed: ${sentence} ${spelled(place)}`;
  return new ExpressionError("evaluation", message, place, options);
}

const spelled = ({ line, column }: Place): string => `(line ${line}, column ${column})`;

function placeOf(source: string, at: number): Place {
  const before = source.slice(0, at);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: at - lineStart + 1 };
}
