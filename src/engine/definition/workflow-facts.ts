/** What the checks of one part of a workflow need to know about the rest of it. */
import { stateType } from "./enumerations.ts";
import { asList, asObject, asObjects, asText, isPresent, type JsonObject } from "./json.ts";

export interface WorkflowFacts {
  readonly stateKeys: ReadonlySet<string>;
  readonly initialKeys: readonly string[];
  /** Counts initial states without a key as well. */
  readonly initialCount: number;
  /** Every transition a running instance could take, by key, and the reserved aliases. */
  readonly transitionKeys: ReadonlySet<string>;
}

export const selfTarget = "$self";

/** The transitions every instance understands, with the name requests may use for each. */
export const wellKnownTransitions = [
  { member: "cancel", alias: "cancel" },
  { member: "exit", alias: "exit" },
  { member: "updateData", alias: "update-parent-data" },
] as const;

export function factsOf(attributes: JsonObject): WorkflowFacts {
  const states = asObjects(attributes["states"]);
  const initial = states.filter((state) => stateType.read(state["stateType"]) === "initial");
  const wellKnown = wellKnownTransitions.filter(({ member }) => isPresent(attributes[member]));
  return {
    stateKeys: keysOf(states),
    initialKeys: initial.flatMap((state) => asText(state["key"]) ?? []),
    initialCount: initial.length,
    transitionKeys: new Set([
      ...states.flatMap((state) => [...keysOf(asList(state["transitions"]))]),
      ...keysOf(asList(attributes["sharedTransitions"])),
      ...keysOf(wellKnown.map(({ member }) => attributes[member])),
      ...wellKnown.map(({ alias }) => alias),
    ]),
  };
}

const keysOf = (items: readonly unknown[]): Set<string> =>
  new Set(items.flatMap((item) => asText(asObject(item)?.["key"]) ?? []));
