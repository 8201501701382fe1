import { triggerTypeCodes } from "../../engine/enumeration-codes.ts";
import type { Author } from "../../engine/instance.ts";
import type { Queries } from "./database.ts";

// The primary key read backwards: it ends at the first manual record.
const newestFirst = {
  name: "last-manual-author",
  text: `
    select created_by, created_by_behalf_of from transition_record
    where instance_id = $1 and trigger_type = $2
    order by seq desc limit 1`,
};

interface Found {
  created_by: string | null;
  created_by_behalf_of: string | null;
}

/** Who made the last manual transition; the start is one. */
export async function lastManualAuthor(
  queries: Queries,
  instanceId: string,
): Promise<Author | undefined> {
  const manual = triggerTypeCodes.codeOf("manual");
  const [row] = await queries.query<Found>(newestFirst, [instanceId, manual]);
  if (row === undefined) return undefined;
  return { actor: row.created_by ?? undefined, behalfOf: row.created_by_behalf_of ?? undefined };
}
