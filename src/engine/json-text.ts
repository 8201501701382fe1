import { stringifyJson, type JsonValue } from "./exact-json.ts";

/**
 * The JSON text of a value that is kept and never changed: instance data, payloads. The same object
 * is the same text, so whoever asks second (the answer after the write, the next script) gets what
 * the first one made; the text goes when its object goes.
 */
const texts = new WeakMap<object, string>();

export function jsonText(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return stringifyJson(value);
  let text = texts.get(value);
  if (text === undefined) texts.set(value, (text = stringifyJson(value)));
  return text;
}
