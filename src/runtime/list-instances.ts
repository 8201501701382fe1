import { ComponentKind, isComponentKind } from "../engine/component-kind.ts";
import type { InstanceQuery } from "../engine/instance-query/instance-query.ts";
import { problems } from "../engine/problems.ts";
import type { InstanceList, InstanceLists } from "../storage/instance-list.ts";
import type { Catalogue } from "./catalogue.ts";

export type ListOutcome = Extract<InstanceList, { kind: "page" | "groups" }>;

/** Instances of a workflow; of a system flow its records, which are definitions. */
export async function listInstances(
  ports: { catalogue: Catalogue; lists: InstanceLists },
  wanted: { domain: string; workflow: string },
  query: InstanceQuery,
): Promise<ListOutcome> {
  const scope = { domain: wanted.domain, flow: wanted.workflow };
  const list = isComponentKind(wanted.workflow)
    ? await ports.lists.definitions(scope, query)
    : await ports.lists.instances(await publishedFlow(ports.catalogue, scope), query);
  switch (list.kind) {
    case "tooSlow":
      throw problems.listTooSlow({});
    case "tooManyGroups": {
      const message = `groupBy.tooManyGroups: There are more than ${list.limit} groups. Narrow the filter, or group by something coarser.`;
      throw problems.groupByInvalid({}, { errors: { groupBy: [message] } });
    }
    default:
      return list;
  }
}

async function publishedFlow(catalogue: Catalogue, scope: { domain: string; flow: string }) {
  const { domain, flow: key } = scope;
  const found = await catalogue.find({ domain, kind: ComponentKind.flow, key });
  if (found === undefined) {
    throw problems.componentNotFound({ domain, flow: ComponentKind.flow, key });
  }
  return scope;
}
