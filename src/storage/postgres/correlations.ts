/** Who waits for whom. */
import type { InstanceStatus } from "../../engine/instance.ts";
import type { Correlation, Descendant } from "../instance-store.ts";
import type { Queries } from "./database.ts";

const columns = `
  c.id, c.kind::text as kind, c.parent_id, c.parent_state, c.child_id, c.child_domain, c.child_flow,
  c.child_version, c.created_at, c.outcome, c.completed_at, i.status::text as status,
  i.current_state, i.effective_state, coalesce(i.modified_at, i.created_at) as modified_at`;

const ofParent = {
  name: "list-correlations",
  text: `
    select ${columns} from correlation c left join instance i on i.id = c.child_id
    where c.parent_id = $1 order by c.created_at, c.id`,
};

const ofChild = {
  name: "find-correlation",
  text: `
    select ${columns} from correlation c left join instance i on i.id = c.child_id
    where c.child_id = $1`,
};

const below = {
  name: "list-descendants",
  text: `
    with recursive tree (id, depth) as (
      select c.id, 1 from correlation c where c.parent_id = $1
      union all
      select c.id, t.depth + 1
      from tree t join correlation p on p.id = t.id join correlation c on c.parent_id = p.child_id)
    select ${columns}, i.key as child_key, i.completed_at as child_completed_at
    from tree t join correlation c on c.id = t.id left join instance i on i.id = c.child_id
    order by t.depth, c.created_at, c.id limit $2`,
};

/** More than anybody looks through; a tree beyond that is cut at its youngest leaves. */
const mostDescendants = 1000;

interface CorrelationRow {
  id: string;
  kind: "S" | "P";
  parent_id: string;
  parent_state: string;
  child_id: string;
  child_domain: string;
  child_flow: string;
  child_version: string;
  created_at: Date;
  outcome: Correlation["outcome"] | null;
  completed_at: Date | null;
  status: InstanceStatus | null;
  current_state: string | null;
  effective_state: string | null;
  modified_at: Date | null;
}

export async function listCorrelations(queries: Queries, parentId: string): Promise<Correlation[]> {
  const rows = await queries.query<CorrelationRow>(ofParent, [parentId]);
  return rows.map(toCorrelation);
}

export async function findCorrelation(
  queries: Queries,
  childId: string,
): Promise<Correlation | undefined> {
  const [row] = await queries.query<CorrelationRow>(ofChild, [childId]);
  return row === undefined ? undefined : toCorrelation(row);
}

export async function listDescendants(queries: Queries, instanceId: string): Promise<Descendant[]> {
  type Row = CorrelationRow & { child_key: string | null; child_completed_at: Date | null };
  const rows = await queries.query<Row>(below, [instanceId, mostDescendants]);
  return rows.map((row) => ({
    ...toCorrelation(row),
    childKey: row.child_key ?? undefined,
    childCompletedAt: row.child_completed_at ?? undefined,
  }));
}

const toCorrelation = (row: CorrelationRow): Correlation => ({
  id: row.id,
  type: row.kind,
  parentId: row.parent_id,
  parentState: row.parent_state,
  childId: row.child_id,
  childDomain: row.child_domain,
  childFlow: row.child_flow,
  childVersion: row.child_version,
  createdAt: row.created_at,
  outcome: row.outcome ?? undefined,
  completedAt: row.completed_at ?? undefined,
  child:
    row.status === null
      ? undefined
      : {
          status: row.status,
          state: row.current_state ?? "",
          effectiveState: row.effective_state ?? "",
          modifiedAt: row.modified_at ?? row.created_at,
        },
});
