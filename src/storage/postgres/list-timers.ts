import type { StoredTimer } from "../instance-store.ts";
import type { Queries } from "./database.ts";

// One that a node has in hand is not waiting any more, and its `ready_at` is the end of a lease.
const ofInstance = {
  name: "list-timers",
  text: `
    select source_state, transition_key, ready_at from job
    where instance_id = $1 and kind = 'sx' and owner is null and source_state is not null
      and transition_key is not null
    order by ready_at, transition_key`,
};

interface TimerRow {
  source_state: string;
  transition_key: string;
  ready_at: Date;
}

export async function listTimers(queries: Queries, instanceId: string): Promise<StoredTimer[]> {
  const rows = await queries.query<TimerRow>(ofInstance, [instanceId]);
  return rows.map((row) => ({
    sourceState: row.source_state,
    transitionKey: row.transition_key,
    dueAt: row.ready_at,
  }));
}
