import type { Standing } from "../change-feed.ts";
import type { Queries } from "./database.ts";

// Down the chain of open subflows, and at each step beside it: a child that has ended and whose
// parent knows it changes no more.
const standings = {
  name: "read-standings",
  text: `
    select i.id, i.rev, coalesce(f.family, '') as family
    from instance i
    left join lateral (
      with recursive chain as (
        select i.id, i.open_child
        union all
        select c.id, c.open_child from chain join instance c on c.id = chain.open_child)
      select string_agg(child.id || ':' || child.rev, ' ' order by child.id) as family
      from chain
      join correlation k on k.parent_id = chain.id and k.completed_at is null
      join instance child on child.id = k.child_id) f on true
    where i.id = any($1::uuid[])`,
};

export const readStandings = (queries: Queries, ids: readonly string[]): Promise<Standing[]> =>
  queries.query<Standing>(standings, [ids]);
