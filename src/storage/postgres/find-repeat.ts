import type { InstanceStatus } from "../../engine/instance.ts";
import type { Repeat, RepeatOf } from "../instance-store.ts";
import type { Queries } from "./database.ts";

// The first request may still be queued, and have no record yet. Or it was a subflow's, which may
// have ended since: whoever sends it to the instance again means the same.
const byIdempotencyKey = {
  name: "find-repeat",
  text: `
    with recursive below as (
      select child_id from correlation where parent_id = $1 and kind = 'S'
      union all
      select c.child_id from correlation c join below b on c.parent_id = b.child_id
      where c.kind = 'S')
    select outcome_status::text as status, outcome_seq, false as is_below from transition_record
    where instance_id = $1 and transition_key = $2 and idempotency_key = $3
    union all
    select null, null, false from job
    where instance_id = $1 and transition_key = $2 and kind = 'tx'
      and payload::json #>> '{request,idempotencyKey}' = $3
    union all
    select r.outcome_status::text, null, true from below
    join transition_record r on r.instance_id = below.child_id
    where r.transition_key = $2 and r.idempotency_key = $3
    order by is_below limit 1`,
};

interface Found {
  status: InstanceStatus | null;
  outcome_seq: number | null;
  is_below: boolean;
}

/** What the first request with this idempotency key has come to, if there was one. */
export async function findRepeat(queries: Queries, of: RepeatOf): Promise<Repeat | undefined> {
  // No text in the database has a NUL, and asking for one is an error there.
  if (of.transitionKey.includes("\u0000")) return undefined;
  const [row] = await queries.query<Found>(byIdempotencyKey, [
    of.instanceId,
    of.transitionKey,
    of.idempotencyKey,
  ]);
  if (row === undefined) return undefined;
  return {
    status: row.status ?? undefined,
    lastSeq: row.outcome_seq ?? undefined,
    isBelow: row.is_below,
  };
}
