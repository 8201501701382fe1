import type { SubFlowOverrides } from "../engine/definition/model.ts";
import type { Instance } from "../engine/instance.ts";
import type { Catalogue } from "./catalogue.ts";
import { loadWorkflow } from "./load-program.ts";

/** What the parent of a child replaces in it: one level only, nothing is merged. */
export async function overridesOf(
  catalogue: Catalogue,
  { origin }: Pick<Instance, "origin">,
): Promise<SubFlowOverrides | undefined> {
  if (origin === undefined) return undefined;
  const { domain, flow: workflow, version, state } = origin.parent;
  const parent = await loadWorkflow(catalogue, { domain, workflow, version });
  return parent.states.get(state)?.subFlow?.overrides;
}
