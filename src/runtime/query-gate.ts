/**
 * May this caller look at an instance through its functions and its incidents? The state's
 * `queryRoles` decide, else the workflow's; a parent may replace those of its subflow's states.
 */
import type { Workflow } from "../engine/definition/model.ts";
import type { Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import type { Catalogue } from "./catalogue.ts";
import { explainQuery, type Gate, type RolePorts, type Viewer } from "./check-roles.ts";
import { loadWorkflow } from "./load-program.ts";
import { overridesOf } from "./overrides.ts";

export interface QueryGatePorts extends RolePorts {
  catalogue: Catalogue;
  enforceQueryRoles: boolean;
}

export async function refuseQuery(
  ports: QueryGatePorts,
  instance: Instance,
  viewer: Viewer,
): Promise<void> {
  if (!ports.enforceQueryRoles) return;
  const { allowed } = await explainQueryOf(ports, instance, viewer);
  if (!allowed) throw problems.roleDenied({ what: `reading the instance '${instance.id}'` });
}

export async function explainQueryOf(
  ports: QueryGatePorts,
  instance: Instance,
  viewer: Viewer,
): Promise<Gate> {
  const workflow = await workflowOf(ports, instance);
  const overrides = await overridesOf(ports.catalogue, instance);
  const replaced = overrides?.states.get(instance.current.key)?.queryRoles;
  return explainQuery(ports, workflow, instance, viewer, replaced);
}

const workflowOf = (
  { catalogue }: QueryGatePorts,
  { domain, flow: workflow, flowVersion: version }: Instance,
): Promise<Workflow> => loadWorkflow(catalogue, { domain, workflow, version });
