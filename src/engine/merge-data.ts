import {
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  setMember,
} from "./exact-json.ts";

/**
 * Instance data after a write. Neither input is changed; what stays the same is shared, and `base`
 * itself comes back when nothing changes, so `merged === base` tells that no version is due.
 *
 * | delta             | base               | result                          |
 * |-------------------|--------------------|---------------------------------|
 * | object            | object             | merged member by member         |
 * | null              | anything           | base: null deletes nothing      |
 * | null, new member  | –                  | null                            |
 * | anything          | null               | delta                           |
 * | array             | array              | delta, as a whole               |
 * | anything else     | another type       | delta                           |
 *
 * Numbers differ when a reader could tell: 1.10 replaces 1.1 (see `jsonEquals`).
 */
export function mergeData(base: JsonValue, delta: JsonValue): JsonValue {
  if (delta === null) return base;
  if (isJsonObject(base) && isJsonObject(delta)) return mergeObjects(base, delta);
  return jsonEquals(base, delta) ? base : delta;
}

function mergeObjects(base: JsonObject, delta: JsonObject): JsonObject {
  let merged = base;
  for (const name of Object.keys(delta)) {
    // Own members only: `constructor` and `__proto__` are names like any other.
    const known = Object.hasOwn(base, name);
    const value = known ? mergeData(base[name]!, delta[name]!) : delta[name]!;
    if (known && value === base[name]) continue;
    if (merged === base) merged = { ...base };
    setMember(merged, name, value);
  }
  return merged;
}
