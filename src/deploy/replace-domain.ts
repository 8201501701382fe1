/**
 * Moves a component to another domain (specification, "Domain replacement rules").
 *
 * Every `domain` that is text becomes the target, at every level. Left as they are: everything below
 * a member named `config` or `process`; the `domain` beside a `crossDomain: true`; and the whole of a
 * component or seed record that is marked so itself.
 */
import { isJsonObject, setMember, type JsonObject, type JsonValue } from "../engine/exact-json.ts";

const untouched = new Set(["config", "process"]);

export function replaceDomain(component: JsonObject, target: string): JsonObject {
  if (isCrossDomain(component)) return component;
  return mapMembers(component, (name, value) => {
    if (name === "data" && Array.isArray(value)) {
      return value.map((seed) =>
        isJsonObject(seed) && isCrossDomain(seed) ? seed : replaceIn(seed, target),
      );
    }
    return replaceMember(component, name, value, target);
  });
}

function replaceIn(value: JsonValue, target: string): JsonValue {
  if (Array.isArray(value)) return value.map((item) => replaceIn(item, target));
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (name, member) => replaceMember(value, name, member, target));
}

function replaceMember(
  owner: JsonObject,
  name: string,
  value: JsonValue,
  target: string,
): JsonValue {
  if (untouched.has(name)) return value;
  if (name === "domain" && typeof value === "string") return isCrossDomain(owner) ? value : target;
  return replaceIn(value, target);
}

const isCrossDomain = (object: JsonObject): boolean => own(object, "crossDomain") === true;

const own = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

function mapMembers(
  object: JsonObject,
  change: (name: string, value: JsonValue) => JsonValue,
): JsonObject {
  const changed: JsonObject = {};
  for (const [name, value] of Object.entries(object)) setMember(changed, name, change(name, value));
  return changed;
}
