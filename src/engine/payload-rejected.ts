import type { SchemaError } from "./json-schema.ts";

/** A payload does not fit its schema. Answered with the specification's own body, not a problem. */
export class PayloadRejected extends Error {
  override readonly name = "PayloadRejected";
  readonly errors: readonly SchemaError[];
  /** The transition or function the payload was for. */
  readonly target: string;

  constructor(target: string, errors: readonly SchemaError[]) {
    super(`The payload of '${target}' does not fit its schema.`);
    this.target = target;
    this.errors = errors;
  }
}
