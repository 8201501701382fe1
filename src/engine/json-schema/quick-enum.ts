/** `enum` by one look: ajv compares with each value, half a minute for a long list and a long payload. */
import { _, type Ajv } from "ajv";
import { canonical } from "./unique-items.ts";

export function addQuickEnum(ajv: Ajv): void {
  ajv.removeKeyword("enum");
  ajv.addKeyword({
    keyword: "enum",
    schemaType: "array",
    errors: false,
    compile: (allowed: readonly unknown[]) => isOneOf(allowed),
    error: {
      message: "must be equal to one of the allowed values",
      params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
    },
  });
}

function isOneOf(allowed: readonly unknown[]): (value: unknown) => boolean {
  const scalars = new Set(allowed.filter((value) => !isContainer(value)));
  const containers = new Set(allowed.filter(isContainer).map(canonical));
  return (value) =>
    isContainer(value)
      ? containers.size > 0 && containers.has(canonical(value))
      : scalars.has(value);
}

const isContainer = (value: unknown): boolean => typeof value === "object" && value !== null;
