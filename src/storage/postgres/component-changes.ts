import type { ComponentVersion } from "../../engine/component.ts";
import type { Queries } from "./database.ts";

const changes = {
  name: "component-changes",
  text: `
    select c.domain, c.flow as kind, c.key, c.id as "componentId", v.version,
      v.flow_version as "flowVersion", v.revision
    from component_version v join component c on c.id = v.component_id
    where v.revision > $1
    order by v.revision`,
};

const currentRevision = {
  name: "catalogue-revision",
  text: "select revision from catalogue",
};

export async function componentChanges(
  queries: Queries,
  since: number,
): Promise<{ revision: number; versions: ComponentVersion[] }> {
  const versions = await queries.query<ComponentVersion>(changes, [since]);
  return { revision: versions.at(-1)?.revision ?? since, versions };
}

export async function catalogueRevision(queries: Queries): Promise<number> {
  const [row] = await queries.query<{ revision: number }>(currentRevision);
  return row!.revision;
}
