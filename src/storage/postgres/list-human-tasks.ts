import type { Instance } from "../../engine/instance.ts";
import type { Queries } from "./database.ts";
import { instanceColumns, toInstance, type InstanceRow } from "./instance-row.ts";

// A subflow's task is its parent's: somebody acts on the instance they know. Served by the partial
// index `instance_human`.
const ofDomain = {
  name: "list-human-tasks",
  text: `
    select ${instanceColumns} from instance i
    where i.domain = $1 and i.effective_state_sub_type = 6 and i.status in ('A', 'B')
      and (i.status = 'A' or i.status = 'B' and i.open_child is not null)
      and (i.origin is null or i.origin::json ->> 'type' = 'P')
    order by i.created_at desc, i.id desc limit $2`,
};

/** Instances that wait for a person, newest first. */
export async function listHumanTasks(
  queries: Queries,
  domain: string,
  most: number,
): Promise<Instance[]> {
  const rows = await queries.query<InstanceRow>(ofDomain, [domain, most]);
  return rows.map(toInstance);
}
