/** Every script in a definition, with its path: whatever has `code`, as script slots do. */
import { at } from "./findings.ts";
import { asObject, type JsonObject } from "./json.ts";
import { readScriptCode, type ScriptCode } from "./script-code.ts";

export interface ScriptSlot {
  readonly path: string;
  readonly script: ScriptCode;
}

const slotMembers = new Set([
  "type",
  "code",
  "location",
  "encoding",
  "scripts",
  "language",
  "name",
]);

export function scriptSlotsIn(
  attributes: JsonObject,
  owner: { readonly domain: string },
): ScriptSlot[] {
  const slots: ScriptSlot[] = [];
  const visit = (value: unknown, path: string) => {
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) visit(item, at(path, i));
      return;
    }
    const object = asObject(value);
    if (object === undefined) return;
    if (isSlot(object)) {
      const script = readScriptCode(object, owner);
      if (script !== undefined && script.type !== "global") slots.push({ path, script });
      return;
    }
    for (const [name, member] of Object.entries(object)) visit(member, at(path, name));
  };
  visit(attributes, "attributes");
  return slots;
}

const isSlot = (object: JsonObject) =>
  "code" in object && Object.keys(object).every((name) => slotMembers.has(name));
