/**
 * May this transition run on this instance now? The order of the checks is part of the contract:
 * the first failure answers.
 */
import type { TriggerType } from "../definition/enumerations.ts";
import type { Timeout, Transition, Workflow } from "../definition/model.ts";
import { isTerminal, type Instance } from "../instance.ts";
import type { Problem } from "../problem.ts";
import { problems } from "../problems.ts";
import { bareTransition } from "./bare-transition.ts";
import type { HopKind } from "./run.ts";

/** Automatic and scheduled transitions are the system's; callers fire manual and event ones. */
export type Actor = "user" | "system";

export interface Admitted {
  kind: HopKind;
  transition: Transition;
  trigger: TriggerType;
}

/** The names that always mean the workflow's own special transitions, in any letter case. */
export const aliases = {
  cancel: "cancel",
  exit: "exit",
  updateData: "update-parent-data",
  timeout: "$timeout",
} as const;
const aliasNames: ReadonlySet<string> = new Set(Object.values(aliases));

export function admit(
  workflow: Workflow,
  instance: Instance,
  key: string,
  actor: Actor,
): Admitted | Problem {
  const found = resolve(workflow, instance, key);
  if (isTerminal(instance.status)) return terminal(instance);
  if (actor === "user" && isBlockedByBusy(instance, key, found)) {
    return problems.instanceBusy({ instance: instance.id }, { target: instance.id });
  }
  if (found === undefined) return unavailable(workflow, instance, key);
  return refusalOf(found, instance, actor) ?? found;
}

const terminal = (instance: Instance): Problem =>
  problems.instanceTerminal({ instance: instance.id, status: instance.status });

/**
 * Whether a request to an instance with an open subflow is the subflow's business. Cancel, exit,
 * timeout and updateData are not, nor is a shared transition that the instance offers where it is.
 */
export function isForwarded(workflow: Workflow, { current }: Instance, key: string): boolean {
  if (aliasNames.has(key.toLowerCase()) || resolveSpecial(workflow, key) !== undefined)
    return false;
  const shared = workflow.sharedTransitions.find((t) => t.key === key);
  return shared === undefined || !isAvailableIn(shared.availableIn, current.key);
}

/**
 * Cancel, exit, timeout and updateData pass a Busy instance; everything else waits its turn. A timer
 * has waited already, unless the state itself is a busy one: there it is what the instance waits for.
 */
const isBlockedByBusy = (instance: Instance, key: string, found: Admitted | undefined) =>
  instance.status === "B" &&
  instance.openChild === undefined &&
  (found === undefined ? !aliasNames.has(key.toLowerCase()) : !isSpecial(found.kind));

export const isSpecial = (kind: HopKind): boolean =>
  kind === "cancel" || kind === "exit" || kind === "updateData" || kind === "timeout";

function resolve(workflow: Workflow, instance: Instance, key: string): Admitted | undefined {
  const special = resolveSpecial(workflow, key);
  if (special !== undefined) return special;
  const state = workflow.states.get(instance.current.key);
  const own = state?.transitions.find((t) => t.key === key);
  if (own !== undefined) return { kind: "state", transition: own, trigger: own.triggerType };
  const shared = workflow.sharedTransitions.find((t) => t.key === key);
  return shared === undefined
    ? undefined
    : { kind: "shared", transition: shared, trigger: shared.triggerType };
}

/** By configured key or by alias, case-insensitive; listings only ever show the configured key. */
export function resolveSpecial(workflow: Workflow, key: string): Admitted | undefined {
  const folded = key.toLowerCase();
  const is = (transition: Transition | undefined, alias: string): transition is Transition =>
    transition !== undefined && (transition.key.toLowerCase() === folded || alias === folded);
  const { cancel, exit, updateData } = workflow;
  if (is(cancel, aliases.cancel)) return { kind: "cancel", transition: cancel, trigger: "manual" };
  if (is(exit, aliases.exit)) return { kind: "exit", transition: exit, trigger: "manual" };
  if (is(updateData, aliases.updateData)) {
    return { kind: "updateData", transition: updateData, trigger: "manual" };
  }
  const { timeout } = workflow;
  if (timeout !== undefined && folded === aliases.timeout) {
    return { kind: "timeout", transition: timeoutTransition(timeout), trigger: "scheduled" };
  }
  return undefined;
}

/** The timeout runs like any other transition, under its own key. */
const timeoutTransition = ({ key, target, versionStrategy, annotations }: Timeout): Transition =>
  bareTransition({ key, target, versionStrategy, annotations, triggerType: "scheduled" });

function unavailable(workflow: Workflow, instance: Instance, key: string): Problem {
  const facts = { transition: key, state: instance.current.key };
  switch (key.toLowerCase()) {
    case aliases.cancel:
      return problems.cancelNotConfigured(facts);
    case aliases.exit:
      return problems.exitNotConfigured(facts);
    case aliases.updateData:
      return problems.updateDataNotConfigured(facts);
  }
  if (workflow.startTransition.key === key) return problems.startOutsideInitialState(facts);
  const elsewhere = [...workflow.states.values()].some((s) =>
    s.transitions.some((t) => t.key === key),
  );
  return elsewhere
    ? problems.transitionNotAvailable(facts)
    : problems.transitionNotFound({ transition: key, workflow: workflow.key });
}

function refusalOf(found: Admitted, instance: Instance, actor: Actor): Problem | undefined {
  const { transition, kind, trigger } = found;
  const facts = { transition: transition.key, state: instance.current.key };
  if (actor === "user" && (trigger === "automatic" || trigger === "scheduled")) {
    return problems.triggerNotAllowed({ transition: transition.key, trigger });
  }
  if (isAvailableIn(transition.availableIn, instance.current.key)) {
    // Leaving would leave the subflow behind; only cancel, exit and timeouts may.
    const leaves = kind === "shared" && transition.target !== "$self";
    return leaves && instance.openChild !== undefined && actor === "user"
      ? problems.sharedMustStay(facts)
      : undefined;
  }
  return kind === "shared"
    ? problems.sharedNotAvailable(facts)
    : problems.specialNotAvailable(facts);
}

export const isAvailableIn = (availableIn: Transition["availableIn"], state: string): boolean =>
  availableIn === "all" || availableIn.some((entry) => entry.state === state);
