/** Transitions, and the timeout, which ends as one. */
import { meansEveryState } from "./check-available-in.ts";
import { executionType, resourceLockAction, triggerKind, triggerType } from "./enumerations.ts";
import { asList, asObject, asText, type JsonObject } from "./json.ts";
import type { AvailableIn, ResourceLock, Timeout, Transition } from "./model.ts";
import {
  asNumber,
  durationOf,
  normaliseAnnotations,
  normaliseLabels,
  normaliseRoles,
  normaliseSchemas,
  normaliseStrategy,
  normaliseTasks,
  normaliseViews,
  type Owner,
} from "./normalise-parts.ts";
import { readScriptCode, type ScriptCode } from "./script-code.ts";

const defaultLockSeconds = 300;

export function normaliseTransition(
  transition: JsonObject,
  states: ReadonlySet<string>,
  owner: Owner,
): Transition {
  const key = asText(transition["key"]) ?? "";
  return {
    key,
    target: asText(transition["target"]) ?? "",
    from: asText(transition["from"]),
    triggerType: triggerType.read(transition["triggerType"]) ?? "manual",
    triggerKind: triggerKind.read(transition["triggerKind"]) ?? "none",
    versionStrategy: normaliseStrategy(transition["versionStrategy"]),
    labels: normaliseLabels(transition["labels"], key),
    rule: readScriptCode(transition["rule"], owner),
    timer: readScriptCode(transition["timer"], owner),
    schema: normaliseSchemas(transition["schema"], owner),
    mapping: ownScript(transition["mapping"], owner),
    view: normaliseViews(transition, owner),
    eventMapping: readScriptCode(asObject(transition["event"])?.["mapping"], owner),
    onExecutionTasks: normaliseTasks(transition["onExecutionTasks"], owner),
    roles: normaliseRoles(transition["roles"]),
    availableIn: normaliseAvailableIn(transition["availableIn"], states),
    annotations: normaliseAnnotations(transition["annotations"]),
    resourceLock: normaliseResourceLock(transition["resourceLock"], owner),
    executionType: executionType.read(transition["executionType"]),
  };
}

/** A global mapping has no script of its own: the payload stays as it is. */
function ownScript(value: unknown, owner: Owner): ScriptCode | undefined {
  const script = readScriptCode(value, owner);
  return script?.type === "global" ? undefined : script;
}

function normaliseAvailableIn(value: unknown, states: ReadonlySet<string>): AvailableIn {
  if (meansEveryState(value, states)) return "all";
  return asList(value).flatMap((entry) => {
    const object = asObject(entry);
    const state = asText(entry) ?? asText(object?.["state"]);
    return state === undefined ? [] : [{ state, roles: normaliseRoles(object?.["roles"]) }];
  });
}

function normaliseResourceLock(value: unknown, owner: Owner): ResourceLock | undefined {
  const lock = asObject(value);
  const keyExpression = readScriptCode(lock?.["keyExpression"], owner);
  if (lock === undefined || keyExpression === undefined) return undefined;
  return {
    keyExpression,
    action: resourceLockAction.read(lock["action"]) ?? "acquire",
    ttlSeconds: asNumber(lock["ttlSeconds"]) ?? defaultLockSeconds,
  };
}

export function normaliseTimeout(value: unknown, owner: Owner): Timeout | undefined {
  const timeout = asObject(value);
  const durationMs = durationOf(asObject(timeout?.["timer"])?.["duration"]);
  if (timeout === undefined || durationMs === undefined) return undefined;
  return {
    key: asText(timeout["key"]) ?? "",
    target: asText(timeout["target"]) ?? "",
    versionStrategy: normaliseStrategy(timeout["versionStrategy"]),
    durationMs,
    mapping: readScriptCode(timeout["mapping"], owner),
    annotations: normaliseAnnotations(timeout["annotations"]),
  };
}
