import type { Queries } from "./database.ts";

// A run that began as an update of the data moves the instance once it has taken an automatic
// transition: its checkpoint says so.
const byInstance = {
  name: "find-mover",
  text: `
    select 1 from job
    where instance_id = $1 and id is distinct from $2 and kind in ('tx', 'rs', 'la')
      and coalesce(payload::json #>> '{checkpoint,kind}', payload::json #>> '{request,kind}')
        is distinct from 'updateData'
    limit 1`,
};

export async function findMover(
  queries: Queries,
  instanceId: string,
  ownJob: string | undefined,
): Promise<boolean> {
  return (await queries.query(byInstance, [instanceId, ownJob ?? null])).length > 0;
}
