/**
 * One evaluation: the context it reads, the place it has come to, and the work it may still do.
 *
 * There are no loops, but a body of megabytes makes single steps dear: `.ToUpper()` a thousand
 * times over, or `.Contains` on a long array. Each step pays for the characters, items and names it
 * looks at, by what they were measured to cost, so that the worst expression ends within a fraction
 * of a second. An allowance that nobody meets by accident: a megabyte may be searched seven times.
 */
import { evaluationError, type ExpressionError } from "./expression-error.ts";
import type { ExpressionContext } from "./expression-context.ts";

/** UTF-16 units of one text, intermediate or final. */
export const maxTextLength = 1024 * 1024;
/** In characters looked at. */
export const maxWork = 8_000_000;
export const workPerItem = 4;
/** Listing the names of an object with very many of them is slow. */
export const workPerName = 20;

export class Evaluation {
  readonly context: ExpressionContext;
  /** Offset of the operation at hand, and its receiver's source: for the message if it fails. */
  at = 0;
  subject = "";
  readonly #source: string;
  #workLeft = maxWork;

  constructor(context: ExpressionContext, source: string) {
    this.context = context;
    this.#source = source;
  }

  spend(units: number): void {
    this.#workLeft -= units;
    if (this.#workLeft < 0) throw this.failure("The expression works through too much data.");
  }

  /** Pays for a text that a step makes, and refuses one that is too long. */
  text(text: string): string {
    this.spend(text.length);
    return this.fitting(text);
  }

  fitting(text: string): string {
    if (text.length <= maxTextLength) return text;
    throw this.failure(`A text is longer than ${maxTextLength} characters.`);
  }

  failure(sentence: string, options?: ErrorOptions): ExpressionError {
    return evaluationError(this.#source, this.at, sentence, options);
  }
}
