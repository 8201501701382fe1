import { ComponentKind } from "../engine/component-kind.ts";
import { dataPathsIn } from "../engine/instance-query/data-paths.ts";
import type { InstanceQuery } from "../engine/instance-query/instance-query.ts";
import { problems } from "../engine/problems.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Viewer } from "./check-roles.ts";
import { accessOf } from "./sight.ts";

/**
 * Refuses a list that filters, sorts or groups by data its caller does not see: whoever may ask "is
 * it above 1000?" knows the value after a few questions. A list has instances of every version of
 * its workflow, so the rules of every version count.
 */
export async function checkListFields(
  catalogue: Catalogue,
  { domain, flow }: { domain: string; flow: string },
  query: InstanceQuery,
  viewer: Viewer,
): Promise<void> {
  const paths = dataPathsIn(query);
  if (paths.length === 0) return;
  const caller = { ...viewer, instance: undefined };
  for (const version of catalogue.versions({ domain, kind: ComponentKind.flow, key: flow })) {
    const found = await accessOf(catalogue, version);
    if (found === undefined) continue;
    const closed = paths.find((path) => !found.access.isOpen(path, caller));
    if (closed === undefined) continue;
    const field = `attributes.${closed.join(".")}`;
    throw problems.roleDenied({ what: `a list by '${field}'` }, { target: field });
  }
}
