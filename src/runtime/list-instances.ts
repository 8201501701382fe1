import { ComponentKind, isComponentKind } from "../engine/component-kind.ts";
import { parseJson } from "../engine/exact-json.ts";
import type { InstanceQuery } from "../engine/instance-query/instance-query.ts";
import { jsonText } from "../engine/json-text.ts";
import { problems } from "../engine/problems.ts";
import type { InstanceList, InstanceLists, ListedInstance } from "../storage/instance-list.ts";
import type { Catalogue } from "./catalogue.ts";
import { checkListFields } from "./check-list-fields.ts";
import type { Viewer } from "./check-roles.ts";
import { isRestricted, type SightOf } from "./sight.ts";

export type ListOutcome = Extract<InstanceList, { kind: "page" | "groups" }>;

/** Instances of a workflow; of a system flow its records, which are definitions. */
export async function listInstances(
  ports: { catalogue: Catalogue; lists: InstanceLists; sightOf: SightOf },
  wanted: { domain: string; workflow: string },
  query: InstanceQuery,
  viewer: Viewer,
): Promise<ListOutcome> {
  const scope = { domain: wanted.domain, flow: wanted.workflow };
  if (isComponentKind(wanted.workflow)) return answer(await ports.lists.definitions(scope, query));
  const flow = await publishedFlow(ports.catalogue, scope);
  await checkListFields(ports.catalogue, flow, query, viewer);
  const list = answer(await ports.lists.instances(flow, query));
  if (list.kind === "groups") return list;
  const seen = list.instances.map((item) => asSeen(ports, item, viewer));
  return { ...list, instances: await Promise.all(seen) };
}

/** Read as data only where somebody may see less than all of it. */
async function asSeen(
  { catalogue, sightOf }: { catalogue: Catalogue; sightOf: SightOf },
  item: ListedInstance,
  viewer: Viewer,
): Promise<ListedInstance> {
  const { instance, dataText } = item;
  if (dataText === undefined || !(await isRestricted(catalogue, instance))) return item;
  const data = parseJson(dataText);
  const sight = await sightOf({ ...instance, data }, viewer);
  if (sight.tag === "") return item;
  const visible = sight.of(data);
  return { instance, dataText: visible === undefined ? undefined : jsonText(visible) };
}

function answer(list: InstanceList): ListOutcome {
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
