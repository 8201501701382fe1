/** `uniqueItems` in linear time: ajv compares each item with each other, minutes for a large list. */
import type { Ajv } from "ajv";

export function addLinearUniqueItems(ajv: Ajv): void {
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    errors: false,
    validate: (wanted: boolean, items: readonly unknown[]) => !wanted || !hasDuplicates(items),
    error: { message: "must not have the same item twice" },
  });
}

function hasDuplicates(items: readonly unknown[]): boolean {
  return new Set(items.map(canonical)).size < items.length;
}

/** Equal JSON values have equal text, whatever the order of their members. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}:${canonical(v)}`);
    return `{${members.toSorted().join(",")}}`;
  }
  return JSON.stringify(value) ?? "undefined";
}
