/**
 * An instance with the subflows that are open in it, one inside the other. Most functions answer for
 * the deepest of them; a subflow that is not there yet, or has just ended, is not shown any more.
 */
import type { SubFlowOverrides, Transition } from "../engine/definition/model.ts";
import { isTerminal, type Instance } from "../engine/instance.ts";
import type { Placed } from "../engine/offered-transitions.ts";
import { isForwarded } from "../engine/transition/admit.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { loadWorkflow } from "../runtime/load-program.ts";
import { overridesOf } from "../runtime/overrides.ts";
import type { Viewer } from "../runtime/check-roles.ts";

export interface Level extends Placed {
  /** What its parent replaces in it. */
  readonly overrides: SubFlowOverrides | undefined;
}

/** The instance that is asked first, the deepest open subflow last. Never empty. */
export type Levels = readonly [Level, ...Level[]];

export async function loadLevels(ports: FunctionPorts, polled: Instance): Promise<Levels> {
  const levels: [Level, ...Level[]] = [await levelOf(ports, polled)];
  let { openChild: child } = polled;
  while (child !== undefined) {
    const { domain, flow, id: reference } = child;
    const instance = await ports.store.find({ domain, flow, reference });
    if (instance === undefined || isTerminal(instance.status)) break;
    levels.push(await levelOf(ports, instance));
    child = instance.openChild;
  }
  return levels;
}

export async function levelOf(ports: FunctionPorts, instance: Instance): Promise<Level> {
  const { domain, flow, flowVersion: version } = instance;
  const workflow = await loadWorkflow(ports.catalogue, { domain, workflow: flow, version });
  return { instance, workflow, overrides: await overridesOf(ports.catalogue, instance) };
}

export const deepest = (levels: Levels): Level => levels.at(-1)!;

/** Every one of them shows something of itself, so the viewer has to pass the gate of each. */
export async function refuseQuery(
  { instances }: FunctionPorts,
  levels: Levels,
  viewer: Viewer,
): Promise<void> {
  for (const { instance } of levels) await instances.refuseQuery(instance, viewer);
}

/** Whose business a transition is: the first that does not forward it, else the deepest. */
export const keeperOf = (levels: Levels, key: string): Level =>
  levels.slice(0, -1).find(({ workflow, instance }) => !isForwarded(workflow, instance, key)) ??
  deepest(levels);

/** A parent may replace who may send a transition to its subflow. */
export function asOverridden({ overrides }: Level, transition: Transition): Transition {
  const roles = overrides?.transitions.get(transition.key)?.roles;
  return roles === undefined ? transition : { ...transition, roles };
}
