/**
 * Reading a value as the type of a default, the way `Convert.ChangeType` does: numbers from texts
 * and booleans, texts from numbers and booleans, booleans from `true`/`false` and numbers.
 * `undefined` says that there is no such reading.
 */

/** `0` stands for any number, `""` for any text: what a default says about its type. */
export type Widened<Value> = Value extends string
  ? string
  : Value extends number
    ? number
    : Value extends boolean
      ? boolean
      : Value;

export function convertLike(value: unknown, example: unknown): unknown {
  if (example === null || example === undefined) return value;
  switch (typeof example) {
    case "string":
      return toText(value);
    case "number":
      return toNumber(value);
    case "boolean":
      return toBoolean(value);
    default:
      break;
  }
  if (example instanceof Date) return toDate(value);
  const isSameForm =
    typeof value === typeof example && Array.isArray(value) === Array.isArray(example);
  return isSameForm ? value : undefined;
}

const toText = (value: unknown): string | undefined => {
  if (typeof value === "string") return value;
  if (value instanceof Date) return value.toISOString();
  return ["number", "boolean", "bigint"].includes(typeof value) ? String(value) : undefined;
};

const decimal = /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*$/;

const toNumber = (value: unknown): number | undefined => {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "bigint") return Number(value);
  return typeof value === "string" && decimal.test(value) ? Number(value) : undefined;
};

const toBoolean = (value: unknown): boolean | undefined => {
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return value !== 0;
  if (typeof value !== "string") return undefined;
  const word = value.trim().toLowerCase();
  return word === "true" ? true : word === "false" ? false : undefined;
};

const toDate = (value: unknown): Date | undefined => {
  if (value instanceof Date) return value;
  if (typeof value !== "string") return undefined;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? undefined : date;
};
