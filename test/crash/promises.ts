/** What must hold when the dust has settled. */
import { Client } from "pg";
import { createIds } from "../../src/ids.ts";
import { audit, type Finding } from "../../src/runtime/audit.ts";
import { createCatalogue } from "../../src/runtime/catalogue.ts";
import { createAuditQueries } from "../../src/storage/postgres/audit-queries.ts";
import { openDatabase } from "../../src/storage/postgres/database.ts";
import { createComponentStore } from "../../src/storage/postgres/postgres-component-store.ts";
import type { Asked } from "./clients.ts";
import type { Effects } from "./effects.ts";
import { effectsOf } from "./journey.ts";

export async function auditOf(url: string): Promise<Finding[]> {
  const database = openDatabase({ url, poolSize: 1, statementTimeoutMs: 20_000 });
  try {
    const catalogue = createCatalogue(createComponentStore(database, createIds()));
    await catalogue.reload();
    const findings: Finding[] = [];
    const ports = { queries: createAuditQueries(database), catalogue };
    for await (const finding of audit(ports, { pageSize: 50 })) findings.push(finding);
    return findings;
  } finally {
    await database.close();
  }
}

/** One connection per database, kept while it is asked: polls ask often, and a login is expensive. */
const connections = new Map<string, Promise<Client>>();

export async function rowsOf<R>(url: string, sql: string, values: unknown[] = []): Promise<R[]> {
  let connection = connections.get(url);
  if (connection === undefined) {
    connection = connect(url);
    connections.set(url, connection);
  }
  return (await (await connection).query(sql, values)).rows as R[];
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  const forget = () => void connections.delete(url);
  // The database is dropped with the connection, or restarted under it.
  client.on("error", forget).on("end", forget);
  await client.connect().catch((error: unknown) => {
    forget();
    throw error;
  });
  return client;
}

/** Work somebody still has to do: jobs, and instances that are Busy. */
export const unfinished = (url: string): Promise<object[]> =>
  rowsOf(
    url,
    `select 'job' as what, name as which, owner::text as detail from job
     union all select 'instance', id::text, current_state from instance where status = 'B'`,
  );

interface Made {
  instance: string;
  id: string;
  transition: string;
  to_state: string | null;
  body: string | null;
  /** The data of the instance. */
  data: Record<string, unknown>;
}

/**
 * Everything that was promised was done once, and what was not promised at most once; each effect
 * outside happened at least once per record that stands for it, always with the same key. Returns
 * what is wrong.
 */
export async function brokenPromises(
  url: string,
  asked: readonly Asked[],
  effects: Effects,
): Promise<string[]> {
  const made = await rowsOf<Made>(
    url,
    `select r.instance_id as instance, r.id, r.transition_key as transition, r.to_state, r.body, i.data
     from transition_record r join instance i on i.id = r.instance_id`,
  );
  const byField = new Map<string, Made[]>();
  for (const record of made) {
    for (const field of Object.keys(JSON.parse(record.body ?? "{}") as object)) {
      byField.set(field, [...(byField.get(field) ?? []), record]);
    }
  }
  return [...wrongRecords(asked, byField), ...wrongEffects(made, effects)];
}

function* wrongRecords(
  asked: readonly Asked[],
  byField: ReadonlyMap<string, Made[]>,
): Iterable<string> {
  for (const { field, transition, status } of asked) {
    const records = byField.get(field) ?? [];
    const isPromised = status === 200 || status === 202;
    const isRefused = status >= 400 && status < 500;
    const what = `${transition} ${field} (${status})`;
    if (isPromised && records.length !== 1) yield `${what} has ${records.length} records`;
    if (records.length > 1) yield `${what} was made ${records.length} times`;
    if (isRefused && records.length > 0) yield `${what} was refused and made`;
    for (const { to_state: to, data } of records) {
      if (to === null) yield `${what} has an open record`;
      if (data[field] !== true) yield `${what} is not in the data`;
    }
  }
}

function* wrongEffects(made: readonly Made[], { all }: Effects): Iterable<string> {
  const keys = new Set(all.map((effect) => effect.key));
  const keysOf = new Map<string, string[]>();
  for (const key of keys) {
    const [record = ""] = key.split(":");
    keysOf.set(record, [...(keysOf.get(record) ?? []), key]);
  }
  for (const { id, transition, data } of made) {
    const happened = keysOf.get(id) ?? [];
    const expected = effectsOf(transition);
    if (happened.length !== expected) {
      yield `${transition} ${id} has the effects ${happened.join()}; ${expected} expected`;
    }
    for (const key of happened) {
      if (data[key] !== true) yield `the result of the effect ${key} is not in the data`;
    }
    keysOf.delete(id);
  }
  for (const [record, stray] of keysOf) yield `effects ${stray.join()} of no record ${record}`;
}
