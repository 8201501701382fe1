/**
 * JSON as `application/x-www-form-urlencoded`, in the spelling that our own API reads back:
 * `name[field]=v` for objects, `name[0][field]=v` for lists of objects, `name[]=v` for lists.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../engine/exact-json.ts";

export function formText(body: JsonObject): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) add(form, name, value);
  return form.toString();
}

/** Null is an empty field: a form has no other word for it. */
function add(form: URLSearchParams, name: string, value: JsonValue): void {
  if (Array.isArray(value)) {
    const isFlat = !value.some((item) => Array.isArray(item) || isJsonObject(item));
    for (const [i, item] of value.entries()) {
      add(form, isFlat ? `${name}[]` : `${name}[${i}]`, item);
    }
  } else if (isJsonObject(value)) {
    for (const [member, inner] of Object.entries(value)) add(form, `${name}[${member}]`, inner);
  } else {
    form.append(name, value === null ? "" : String(value));
  }
}
