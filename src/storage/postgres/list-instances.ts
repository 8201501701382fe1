import type { InstanceQuery } from "../../engine/instance-query/instance-query.ts";
import type { Grouping } from "../../engine/instance-query/parse-grouping.ts";
import { StorageUnavailable } from "../../engine/storage-unavailable.ts";
import type { InstanceList, InstanceLists, ListedInstance } from "../instance-list.ts";
import { sqlState, type Database, type Queries } from "./database.ts";
import { fewAtOnce } from "./few-at-once.ts";
import {
  instanceGroupJson,
  instanceGroupsSql,
  maxGroups,
  type InstanceGroupRow,
} from "./instance-groups-sql.ts";
import { instanceListSql, type ListScope } from "./instance-list-sql.ts";
import { instanceColumns, toInstanceWithoutData, type InstanceRow } from "./instance-row.ts";

/** A definition goes out as it was authored; `data` is only for filters and order. */
const definitionColumns = instanceColumns.replace("i.data::text as data", "i.attributes as data");

/** A list asks what its caller likes, and may take as long as a statement may. */
const shareOfPool = 4;
const patienceMs = 5000;

export function createInstanceLists(database: Pick<Database, "query" | "poolSize">): InstanceLists {
  const inTurn = fewAtOnce(Math.max(1, Math.floor(database.poolSize / shareOfPool)), patienceMs);
  return {
    instances: (scope, query) => inTurn(() => list(database, query, scope, instanceColumns)),
    definitions: (scope, query) => {
      const table = { ...scope, table: "component_instance" } as const;
      return inTurn(() => list(database, query, table, definitionColumns));
    },
  };
}

/** SQLSTATE query_canceled: nothing but the statement's time limit cancels a list. */
const canceled = "57014";
const wasCanceled = (error: unknown): boolean =>
  sqlState(error instanceof StorageUnavailable ? error.cause : error) === canceled;

async function list(
  queries: Queries,
  query: InstanceQuery,
  scope: ListScope,
  columns: string,
): Promise<InstanceList> {
  try {
    return query.grouping === undefined
      ? await listPage(queries, query, scope, columns)
      : await listGroups(queries, query, query.grouping, scope);
  } catch (error) {
    if (wasCanceled(error)) return { kind: "tooSlow" };
    throw error;
  }
}

async function listPage(
  queries: Queries,
  query: InstanceQuery,
  scope: ListScope,
  columns: string,
): Promise<InstanceList> {
  const { text, values } = instanceListSql(query, scope, columns);
  const rows = await queries.query<InstanceRow>(text, values);
  const instances = rows.slice(0, query.pageSize).map(listed);
  return { kind: "page", instances, hasNext: rows.length > query.pageSize };
}

function listed(row: InstanceRow): ListedInstance {
  return { instance: toInstanceWithoutData(row), dataText: row.data ?? undefined };
}

async function listGroups(
  queries: Queries,
  query: InstanceQuery,
  grouping: Grouping,
  scope: ListScope,
): Promise<InstanceList> {
  const { text, values } = instanceGroupsSql(query, grouping, scope);
  const rows = await queries.query<InstanceGroupRow>(text, values);
  return rows.length > maxGroups
    ? { kind: "tooManyGroups", limit: maxGroups }
    : { kind: "groups", groups: rows.map(instanceGroupJson) };
}
