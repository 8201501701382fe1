import type { JsonObject, JsonValue } from "../engine/exact-json.ts";

/** Scripts write `to` and `To` alike. Null counts as absent. */
export function memberOf(object: JsonObject, ...names: string[]): JsonValue | undefined {
  for (const name of names) {
    const found = Object.keys(object).find((key) => key.toLowerCase() === name.toLowerCase());
    const value = found === undefined ? undefined : object[found];
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}
