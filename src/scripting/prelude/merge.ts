import { isObject, setOwn } from "./json.ts";

/**
 * `Body` after something was merged into it (scripting.md §4): objects merge member by member, lists
 * and scalars are replaced, a null source leaves the target, a null target takes the source. The
 * same table as the engine's `mergeData`, which a test compares. Neither input is changed.
 */
export function mergeBody(target: unknown, source: unknown): unknown {
  if (source === null || source === undefined) return target ?? null;
  if (!isObject(target) || !isObject(source)) return source;
  const merged = { ...target };
  for (const name of Object.keys(source)) {
    const known = Object.hasOwn(target, name);
    setOwn(merged, name, known ? mergeBody(target[name], source[name]) : source[name]);
  }
  return merged;
}
