/**
 * Whether an instance of this workflow may have started others that are remembered as its children.
 * Most cannot, and their state costs no look at who has.
 */
import type { Component } from "../engine/component.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import { taskType, type TaskType } from "../engine/definition/enumerations.ts";
import type { Workflow } from "../engine/definition/model.ts";
import type { Reference } from "../engine/definition/reference.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import type { Level } from "./levels.ts";

export async function mayHaveChildren(
  { catalogue }: FunctionPorts,
  { instance, workflow }: Level,
): Promise<boolean> {
  if (instance.openChild !== undefined || opensSubflows(workflow)) return true;
  for (const { domain, key, version } of tasksOf(workflow)) {
    const found = catalogue.resolve({ domain, kind: ComponentKind.task, key }, version);
    // What is not published has started nothing.
    if (found === undefined) continue;
    const type = await catalogue.compiled(found, typeOf);
    if (type !== undefined && startsChildren.has(type)) return true;
  }
  return false;
}

/** A subprocess, and tasks that are made of other tasks. */
const startsChildren: ReadonlySet<TaskType> = new Set(["subProcess", "fanOut", "cacheAside"]);

const typeOf = ({ attributes }: Component): TaskType | undefined =>
  taskType.read(attributes["type"]);

const opensSubflows = ({ states }: Workflow) =>
  [...states.values()].some(({ subFlow }) => subFlow !== undefined);

const known = new WeakMap<Workflow, readonly Reference[]>();

function tasksOf(workflow: Workflow): readonly Reference[] {
  let references = known.get(workflow);
  if (references === undefined) known.set(workflow, (references = findTasks(workflow)));
  return references;
}

function findTasks(workflow: Workflow): readonly Reference[] {
  const states = [...workflow.states.values()];
  const { startTransition, sharedTransitions, cancel, updateData, exit } = workflow;
  const transitions = [
    startTransition,
    ...states.flatMap((state) => state.transitions),
    ...sharedTransitions,
    ...[cancel, updateData, exit].flatMap((special) => special ?? []),
  ];
  const groups = [
    ...states.flatMap(({ onEntries, onExits }) => [...onEntries, ...onExits]),
    ...transitions.flatMap(({ onExecutionTasks }) => onExecutionTasks),
  ];
  const references = groups.flatMap(({ tasks }) => tasks.map(({ task }) => task));
  const byName = references.map(
    (task) => [`${task.domain}/${task.key}@${task.version}`, task] as const,
  );
  return [...new Map(byName).values()];
}
