import type { Instance } from "../../engine/instance.ts";
import { isUuid } from "../../engine/uuid.ts";
import type { InstanceAddress } from "../instance-store.ts";
import type { Queries } from "./database.ts";
import { createGather, type Lanes } from "./gather.ts";
import { instanceColumns, toInstance, type InstanceRow } from "./instance-row.ts";

const byId = {
  name: "find-instance",
  text: `select ${instanceColumns} from instance i where i.id = $1`,
};

const byIds = {
  name: "find-instances",
  text: `select ${instanceColumns} from instance i where i.id = any($1::uuid[])`,
};

const byKey = {
  name: "find-instance-by-key",
  text: `
    select ${instanceColumns} from instance i
    where i.domain = $1 and i.flow = $2 and i.key = $3
    order by i.status in ('C', 'P'), i.created_at desc, i.id desc limit 1`,
};

/** Reads that wait at the same moment travel together; see `gather.ts`. */
export function createInstanceFinder(
  queries: Queries,
  lanes: Lanes,
): (address: InstanceAddress) => Promise<Instance | undefined> {
  const gather = createGather<string, InstanceRow | undefined>({
    ...lanes,
    largest: 64,
    async one(id) {
      const [row] = await queries.query<InstanceRow>(byId, [id]);
      return row;
    },
    async many(ids) {
      const rows = await queries.query<InstanceRow>(byIds, [ids]);
      const found = new Map(rows.map((row) => [row.id, row]));
      return ids.map((id) => found.get(id));
    },
  });

  return async ({ domain, flow, reference }) => {
    // No text in the database has a NUL, and asking for one is an error there.
    if (`${domain}${flow}${reference}`.includes("\u0000")) return undefined;
    if (isUuid(reference)) {
      const row = await gather.add(reference.toLowerCase());
      if (row !== undefined && row.domain === domain && row.flow === flow) return toInstance(row);
    }
    const [row] = await queries.query<InstanceRow>(byKey, [domain, flow, reference]);
    return row === undefined ? undefined : toInstance(row);
  };
}
