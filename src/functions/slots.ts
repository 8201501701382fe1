/** The view and schema entries that count at a place, with what a parent replaces in them. */
import { ComponentKind } from "../engine/component-kind.ts";
import type { Transition, ViewEntry } from "../engine/definition/model.ts";
import type { Reference } from "../engine/definition/reference.ts";
import { resolveSpecial } from "../engine/transition/admit.ts";
import { normaliseView } from "../engine/definition/normalise-view.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import type { Level } from "./levels.ts";

/** Where a client may be sent to first: a state, or one of its transitions. */
export interface ViewPlace {
  readonly at: Level;
  /** The state's own without one. */
  readonly transition: Transition | undefined;
}

export function entriesOf({ at, transition }: ViewPlace): readonly ViewEntry[] {
  if (transition !== undefined) return transition.view;
  return at.workflow.states.get(at.instance.current.key)?.view ?? [];
}

/** The view that an entry means here. What is replaced for one place counts before all. */
export function referenceOf(
  { at: { overrides, instance }, transition }: ViewPlace,
  { reference }: ViewEntry,
): Reference {
  if (overrides === undefined) return reference;
  const scoped =
    transition === undefined
      ? overrides.states.get(instance.current.key)?.views
      : overrides.transitions.get(transition.key)?.views;
  return scoped?.get(reference.key) ?? overrides.views.get(reference.key) ?? reference;
}

/** The transition of that key which a caller may mean now; not whether they may send it. */
export function transitionAt({ workflow, instance }: Level, key: string): Transition | undefined {
  const state = workflow.states.get(instance.current.key);
  return (
    resolveSpecial(workflow, key)?.transition ??
    state?.transitions.find((transition) => transition.key === key) ??
    workflow.sharedTransitions.find((transition) => transition.key === key)
  );
}

/** Known without asking a rule, or not at all. From memory: a poll asks for no definition. */
export async function rendererOf(
  { catalogue }: FunctionPorts,
  place: ViewPlace,
): Promise<string | undefined> {
  const [first] = entriesOf(place);
  if (first === undefined || first.rule !== undefined) return undefined;
  const { domain, key, version } = referenceOf(place, first);
  const found = catalogue.resolve({ domain, kind: ComponentKind.view, key }, version);
  return found === undefined
    ? undefined
    : (await catalogue.compiled(found, normaliseView)).renderer;
}
