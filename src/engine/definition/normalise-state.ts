/** States, and the subflow that runs in one. */
import { ComponentKind } from "../component-kind.ts";
import { notificationType, stateSubType, stateType, subFlowType } from "./enumerations.ts";
import { asObject, asObjects, asText, isPresent, type JsonObject } from "./json.ts";
import type { State, StateNotification, SubFlow, SubFlowOverrides } from "./model.ts";
import {
  normaliseErrorBoundary,
  normaliseLabels,
  normaliseLongPoll,
  normaliseRoles,
  normaliseStrategy,
  normaliseTasks,
  normaliseViews,
  type Owner,
} from "./normalise-parts.ts";
import { normaliseTimeout, normaliseTransition } from "./normalise-transition.ts";
import { readReference, type Reference } from "./reference.ts";
import { readScriptCode } from "./script-code.ts";

export function normaliseState(
  state: JsonObject,
  states: ReadonlySet<string>,
  owner: Owner,
): State {
  const key = asText(state["key"]) ?? "";
  return {
    key,
    type: stateType.read(state["stateType"]) ?? "intermediate",
    subType: stateSubType.read(state["subType"]) ?? "none",
    versionStrategy: normaliseStrategy(state["versionStrategy"]),
    labels: normaliseLabels(state["labels"], key),
    view: normaliseViews(state, owner),
    transitions: asObjects(state["transitions"]).map((transition) =>
      normaliseTransition(transition, states, owner),
    ),
    onEntries: normaliseTasks(state["onEntries"], owner),
    onExits: normaliseTasks(state["onExits"], owner),
    subFlow: normaliseSubFlow(state["subFlow"], owner),
    errorBoundary: normaliseErrorBoundary(state["errorBoundary"]),
    queryRoles: normaliseRoles(state["queryRoles"]),
    alias: asObjects(state["alias"]).map((alias) => {
      const name = asText(alias["name"]) ?? key;
      return {
        name,
        roles: normaliseRoles(alias["roles"]),
        labels: normaliseLabels(alias["labels"], name),
      };
    }),
    longPoll: normaliseLongPoll(state["interaction"], owner),
    notifications: asObjects(state["notifications"]).flatMap((item) =>
      normaliseNotification(item, owner),
    ),
  };
}

function normaliseNotification(item: JsonObject, owner: Owner): readonly StateNotification[] {
  const mapping = readScriptCode(item["mapping"], owner);
  if (mapping === undefined) return [];
  const type = notificationType.read(item["type"]) ?? "state";
  return [{ type, mapping, rule: readScriptCode(item["rule"], owner) }];
}

function normaliseSubFlow(value: unknown, owner: Owner): SubFlow | undefined {
  const subFlow = asObject(value);
  const process = readReference(subFlow?.["process"], owner, ComponentKind.flow);
  if (subFlow === undefined || process === undefined) return undefined;
  return {
    type: subFlowType.read(subFlow["type"]) ?? "subFlow",
    process,
    mapping: readScriptCode(subFlow["mapping"], owner),
    overrides: normaliseOverrides(subFlow, owner),
  };
}

function normaliseOverrides(subFlow: JsonObject, owner: Owner): SubFlowOverrides {
  const overrides = asObject(subFlow["overrides"]);
  return {
    views: new Map([
      // The older member; `overrides.views` wins where both name a view.
      ...viewsByKey(subFlow["viewOverrides"], owner),
      ...viewsByKey(overrides?.["views"], owner),
    ]),
    transitions: byKey(overrides?.["transitions"], (transition) => ({
      roles: rolesIfGiven(transition["roles"]),
      views: viewsByKey(transition["views"], owner),
    })),
    states: byKey(overrides?.["states"], (state) => ({
      queryRoles: rolesIfGiven(state["queryRoles"]),
      longPoll: normaliseLongPoll(state["interaction"], owner),
      views: viewsByKey(state["views"], owner),
    })),
    timeout: normaliseTimeout(overrides?.["timeout"], owner),
  };
}

/** An override replaces: an empty list opens the door, an absent one leaves the child's. */
const rolesIfGiven = (value: unknown) => (isPresent(value) ? normaliseRoles(value) : undefined);

function byKey<Value>(map: unknown, read: (item: JsonObject) => Value): ReadonlyMap<string, Value> {
  return new Map(
    Object.entries(asObject(map) ?? {}).flatMap(([key, value]) => {
      const item = asObject(value);
      return item === undefined ? [] : [[key, read(item)] as const];
    }),
  );
}

function viewsByKey(map: unknown, owner: Owner): ReadonlyMap<string, Reference> {
  return new Map(
    Object.entries(asObject(map) ?? {}).flatMap(([key, value]) => {
      const reference = readReference(value, owner, ComponentKind.view);
      return reference === undefined ? [] : [[key, reference] as const];
    }),
  );
}
