/** A member of a task's config with its numbers as the definition's author wrote them. */
import {
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type JsonValue,
  parseJson,
  toPlain,
} from "../engine/exact-json.ts";
import type { TaskCall } from "./task-type.ts";

/**
 * Definitions are held, and scripts compute, with doubles. A value that the input handler left as it
 * was is taken from the definition's text; one that it set is as the handler set it.
 */
export function asWritten({ config, invocation }: TaskCall, member: string): JsonValue | undefined {
  const value = config[member] as JsonValue | undefined;
  if (value === undefined || value === null) return value;
  const attributes = parseJson(invocation.definition.attributesText) as JsonObject;
  const written = isJsonObject(attributes["config"]) ? attributes["config"][member] : undefined;
  return written !== undefined && jsonEquals(toPlain(written), value) ? written : value;
}
