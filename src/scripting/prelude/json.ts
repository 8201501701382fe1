/** JSON as it leaves a script: names as written, nulls kept (scripting.md §5). */

/** What the value will be on the wire. A snapshot: changing the original later changes nothing. */
export function toJson(value: unknown): unknown {
  const text = JSON.stringify(value, mapsAsObjects) as string | undefined;
  return text === undefined ? null : JSON.parse(text);
}

export const stringify = (value: unknown): string => JSON.stringify(value, mapsAsObjects);

/** A Map is what a JavaScript author takes for a dictionary; by itself it would become `{}`. */
function mapsAsObjects(_name: string, value: unknown): unknown {
  if (value instanceof Map) {
    const object: Record<string, unknown> = {};
    for (const [key, item] of value) setOwn(object, String(key), item);
    return object;
  }
  return value instanceof Set ? [...value] : value;
}

/** `__proto__` is a name like any other. */
export function setOwn(object: object, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else {
    (object as Record<string, unknown>)[name] = value;
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
