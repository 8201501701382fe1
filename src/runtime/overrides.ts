import type { LongPoll, SubFlowOverrides, Workflow } from "../engine/definition/model.ts";
import type { Instance } from "../engine/instance.ts";
import { Problem } from "../engine/problem.ts";
import type { Program } from "../engine/transition/run.ts";
import type { Catalogue } from "./catalogue.ts";
import { loadWorkflow } from "./load-program.ts";

/** What the parent of a child replaces in it: one level only, nothing is merged. */
export async function overridesOf(
  catalogue: Catalogue,
  { origin }: Pick<Instance, "origin">,
): Promise<SubFlowOverrides | undefined> {
  if (origin === undefined) return undefined;
  const { domain, flow: workflow, version, state } = origin.parent;
  try {
    const parent = await loadWorkflow(catalogue, { domain, workflow, version });
    return parent.states.get(state)?.subFlow?.overrides;
  } catch (error) {
    // A parent whose definition is gone replaces nothing; it hears of it when the child ends.
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** A parent says for whom and how long a poll pauses; that it does is the child's own. */
export function longPollAt(
  { states }: Workflow,
  overrides: SubFlowOverrides | undefined,
  stateKey: string,
): LongPoll | undefined {
  const own = states.get(stateKey)?.longPoll;
  const replaced = overrides?.states.get(stateKey)?.longPoll;
  if (own === undefined || replaced === undefined) return own ?? replaced;
  return { ...replaced, terminate: own.terminate };
}

/** The child's program with the timeout its parent wants. */
export async function withTimeoutOf(
  catalogue: Catalogue,
  program: Program,
  instance: Pick<Instance, "origin">,
): Promise<Program> {
  const timeout = (await overridesOf(catalogue, instance))?.timeout;
  return timeout === undefined
    ? program
    : { ...program, workflow: { ...program.workflow, timeout } };
}
