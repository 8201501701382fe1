import { textFrom } from "./text.ts";

/** Errors with the names and texts that package authors know; they end up in incidents and data. */

export class ArgumentException extends Error {
  override readonly name: string = "ArgumentException";
  readonly ParamName: string | null;

  constructor(message: string, paramName: string | null = null) {
    super(paramName === null ? message : `${message} (Parameter '${paramName}')`);
    this.ParamName = paramName;
  }
}

export class ArgumentNullException extends ArgumentException {
  override readonly name = "ArgumentNullException";

  constructor(paramName: string) {
    super("Value cannot be null.", paramName);
  }
}

export class InvalidOperationException extends Error {
  override readonly name = "InvalidOperationException";
}

export class RelatedInstanceAccessException extends Error {
  override readonly name = "RelatedInstanceAccessException";
}

/** XML that is not well-formed, or beyond the limits. */
export class XmlException extends Error {
  override readonly name = "XmlException";
}

export class XPathException extends Error {
  override readonly name = "XPathException";
}

/** A handler answered with something its slot cannot use. */
export class ScriptAnswerException extends Error {
  override readonly name = "ScriptAnswerException";
}

export const isBlank = (value: unknown): boolean => textFrom(value).trim() === "";

/** As `ArgumentException.ThrowIfNullOrWhiteSpace`. */
export function requireText(value: unknown, paramName: string): string {
  if (value === null || value === undefined) throw new ArgumentNullException(paramName);
  if (typeof value !== "string") {
    throw new ArgumentException(`The value must be a text.`, paramName);
  }
  if (value.trim() === "") {
    throw new ArgumentException(
      "The value cannot be an empty string or composed entirely of whitespace.",
      paramName,
    );
  }
  return value;
}
