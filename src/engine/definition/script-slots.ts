/**
 * Every script in a definition, with its path. Only where scripts have their place: a schema or the
 * body of a task may well have an object with a `code` of its own.
 */
import { ComponentKind } from "../component-kind.ts";
import { at } from "./findings.ts";
import { asObject, type JsonObject } from "./json.ts";
import { readScriptCode, type ScriptCode } from "./script-code.ts";

export interface ScriptSlot {
  readonly path: string;
  readonly script: ScriptCode;
}

/** What slots are called in workflows, functions and extensions, however deep they are. */
const slotNames = new Set(["mapping", "rule", "timer", "output", "keyExpression"]);
/** And in the config of a task that looks into a cache first. */
const configSlotNames = ["sourceMapping", "key", "keyExpression"];
/** And in the cache of a function, where a key may be a text as well. */
const cacheSlotNames = ["key", "generationKey", "generationKeyExpression"];

export function scriptSlotsIn(
  kind: ComponentKind,
  attributes: JsonObject,
  owner: { readonly domain: string },
): ScriptSlot[] {
  const slots: ScriptSlot[] = [];
  const add = (value: unknown, path: string) => {
    const object = asObject(value);
    if (object === undefined || !("code" in object)) return;
    const script = readScriptCode(object, owner);
    if (script !== undefined && script.type !== "global") slots.push({ path, script });
  };
  const visit = (value: unknown, path: string) => {
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) visit(item, at(path, i));
      return;
    }
    for (const [name, member] of Object.entries(asObject(value) ?? {})) {
      if (slotNames.has(name)) add(member, at(path, name));
      else visit(member, at(path, name));
    }
  };

  const root = "attributes";
  switch (kind) {
    case ComponentKind.mapping:
      add(attributes, root);
      break;
    case ComponentKind.task: {
      const config = asObject(attributes["config"]) ?? {};
      for (const name of configSlotNames) add(config[name], at(at(root, "config"), name));
      break;
    }
    case ComponentKind.function: {
      visit(attributes, root);
      const cache = asObject(attributes["cache"]) ?? {};
      for (const name of cacheSlotNames) add(cache[name], at(at(root, "cache"), name));
      break;
    }
    case ComponentKind.flow:
    case ComponentKind.extension:
      visit(attributes, root);
      break;
    default:
      break;
  }
  return slots;
}
