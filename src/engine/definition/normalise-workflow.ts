/**
 * From a published component to the workflow the engine runs. Only checked components come here
 * (`check-component.ts`), so nothing is refused; every documented default is applied.
 */
import { ComponentKind } from "../component-kind.ts";
import { executionType, workflowType } from "./enumerations.ts";
import { asObject, asObjects, asText, type JsonObject } from "./json.ts";
import type { Transition, Workflow } from "./model.ts";
import {
  asNumber,
  normaliseErrorBoundary,
  normaliseLabels,
  normaliseRoles,
  normaliseSchemas,
} from "./normalise-parts.ts";
import { normaliseState } from "./normalise-state.ts";
import { normaliseTimeout, normaliseTransition } from "./normalise-transition.ts";
import { readReferences } from "./reference.ts";
import { readHelpers, readScriptCode } from "./script-code.ts";
import { factsOf } from "./workflow-facts.ts";

/** The members of a published workflow that say which one it is, and its definition. */
export interface WorkflowComponent {
  readonly key: string;
  readonly domain: string;
  readonly version: string;
  readonly attributes: JsonObject;
}

export function normaliseWorkflow(component: WorkflowComponent): Workflow {
  const { key, domain, version, attributes } = component;
  const owner = { domain };
  const { stateKeys, initialKeys } = factsOf(attributes);
  const transition = (value: unknown): Transition | undefined => {
    const given = asObject(value);
    return given === undefined ? undefined : normaliseTransition(given, stateKeys, owner);
  };
  const states = asObjects(attributes["states"]).map((state) =>
    normaliseState(state, stateKeys, owner),
  );
  const start = asObject(attributes["startTransition"]) ?? {};
  return {
    key,
    domain,
    version,
    type: workflowType.read(attributes["type"]) ?? "flow",
    labels: normaliseLabels(attributes["labels"], key),
    states: new Map(states.map((state) => [state.key, state])),
    initialState: initialKeys[0] ?? asText(start["target"]) ?? "",
    startTransition: normaliseTransition(start, stateKeys, owner),
    sharedTransitions: asObjects(attributes["sharedTransitions"]).map((shared) =>
      normaliseTransition(shared, stateKeys, owner),
    ),
    cancel: transition(attributes["cancel"]),
    exit: transition(attributes["exit"]),
    updateData: transition(attributes["updateData"]),
    timeout: normaliseTimeout(attributes["timeout"], owner),
    errorBoundary: normaliseErrorBoundary(attributes["errorBoundary"]),
    functions: readReferences(attributes["functions"], owner, ComponentKind.function),
    extensions: readReferences(attributes["extensions"], owner, ComponentKind.extension),
    schema: normaliseSchemas(attributes["schema"], owner)[0]?.reference,
    queryRoles: normaliseRoles(attributes["queryRoles"]),
    output: readScriptCode(attributes["output"], owner),
    eventMapping: readScriptCode(asObject(attributes["event"])?.["mapping"], owner),
    helpers: readHelpers(attributes["scripts"], owner),
    functionCacheSeconds: functionCacheSeconds(attributes["config"]),
    executionType: executionType.read(attributes["executionType"]),
  };
}

/** Null, zero and less leave it to the host. */
function functionCacheSeconds(config: unknown): number | undefined {
  const ttl = asNumber(asObject(asObject(config)?.["functionCache"])?.["ttlSeconds"]);
  return ttl !== undefined && ttl > 0 ? ttl : undefined;
}
