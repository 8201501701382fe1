/**
 * All errors of a value, up to a number. ajv itself gathers without end, and copies all it has at
 * every `$ref`: a list of a hundred thousand wrong items, 200 KB, took minutes and gigabytes.
 *
 * So the code that ajv makes is changed to leave, with what it has, when there are too many.
 */
import type { ErrorObject } from "ajv";

/** More than anybody is told. */
const mostErrors = 2000;

interface Validate {
  (data: unknown): unknown;
  errors?: ErrorObject[] | null;
}

/** `code.process` of ajv's options, for those that are asked with `gatherErrors`. */
export function leaveWithErrors(code: string): string {
  const leaving = code.replaceAll(
    /(?<=\})errors\+\+;|(?<=;)errors = vErrors\.length;/g,
    `$&if(errors>${mostErrors})throw vErrors;`,
  );
  if (leaving === code && code.includes("vErrors.push(")) {
    throw new Error("ajv makes other code than this change of it expects.");
  }
  return leaving;
}

export interface GatheredErrors {
  /** None: the value is right, unless some are missing. */
  readonly errors: readonly ErrorObject[];
  /** There are more; or these are of a branch that would have been given up for another one. */
  readonly isCut: boolean;
}

export function gatherErrors(validate: Validate, data: unknown): GatheredErrors {
  try {
    return { errors: validate(data) === true ? [] : (validate.errors ?? []), isCut: false };
  } catch (thrown) {
    if (!Array.isArray(thrown)) throw thrown;
    return { errors: thrown as ErrorObject[], isCut: true };
  }
}
