/**
 * Brings the database to this program's schema: the numbered SQL files of `migrations/`, in order,
 * each in a transaction of its own with the row that remembers it.
 *
 * Many nodes may start at once on an empty database. One takes the advisory lock and migrates, the
 * others wait for it and find everything done. A role that may only read and write rows is enough
 * when there is nothing to apply.
 */
import { readdirSync, readFileSync } from "node:fs";
import { Client } from "pg";
import { StartRefusal } from "../../engine/start-refusal.ts";
import { connectionRefusal } from "./connection-refusal.ts";
import { asUnavailable } from "./database.ts";

const oldestServer = 150_000;
// "mill" as four bytes: the lock's name must be a number.
const migrationLock = 0x6d_69_6c_6c;

export interface MigrationResult {
  applied: string[];
  serverVersion: string;
}

/**
 * A database that does not answer is `StorageUnavailable`; one that will never do as it is, a
 * `StartRefusal`. The signal ends a wait for another node's migration.
 */
export async function migrate(url: string, signal?: AbortSignal): Promise<MigrationResult> {
  let client: Client | undefined;
  const giveUp = () => void client?.end().catch(() => {});
  try {
    client = new Client({ connectionString: url, connectionTimeoutMillis: 5000 });
    client.on("error", () => {
      // A connection lost between two statements; the next statement reports it.
    });
    await client.connect();
    signal?.addEventListener("abort", giveUp);
    // Given up while the connection was made.
    if (signal?.aborted === true) giveUp();
    const serverVersion = await checkServer(client);
    await client.query("select pg_advisory_lock($1)", [migrationLock]);
    return { applied: await applyMissing(client), serverVersion };
  } catch (cause) {
    throw connectionRefusal(cause) ?? asUnavailable(cause);
  } finally {
    signal?.removeEventListener("abort", giveUp);
    // Closing the session releases the lock.
    await client?.end().catch(() => {});
  }
}

async function checkServer(client: Client): Promise<string> {
  const { rows } = await client.query<{ number: number; version: string }>(
    "select current_setting('server_version_num')::int as number, current_setting('server_version') as version",
  );
  const { number, version } = rows[0]!;
  refuseOldServer(number, version);
  return version;
}

/** `number` is PostgreSQL's own: 150004 is 15.4. */
export function refuseOldServer(number: number, version: string): void {
  if (number >= oldestServer) return;
  throw new StartRefusal(
    `The database server is PostgreSQL ${version}; Millrace needs 15 or newer. Point DATABASE_URL to a newer server.`,
  );
}

async function applyMissing(client: Client): Promise<string[]> {
  const done = await appliedMigrations(client);
  const known = migrationFiles();
  const foreign = done.filter((name) => !known.includes(name));
  if (foreign.length > 0) {
    throw new StartRefusal(
      `The database was migrated by a newer Millrace (it has ${foreign.join(", ")}). Start that version, or restore an older database.`,
    );
  }
  const missing = known.filter((name) => !done.includes(name));
  for (const name of missing) {
    const sql = readFileSync(new URL(`migrations/${name}`, import.meta.url), "utf8");
    await client.query("begin");
    try {
      await client.query(sql);
      await client.query("insert into migration (name) values ($1)", [name]);
      await client.query("commit");
    } catch (cause) {
      // Fails only with the connection, and then the server rolls back itself.
      await client.query("rollback").catch(() => {});
      throw new Error(`Migration ${name} failed: ${(cause as Error).message}`, { cause });
    }
  }
  return missing;
}

async function appliedMigrations(client: Client): Promise<string[]> {
  // Looked for first: even `create … if not exists` asks for the right to create.
  const { rows: found } = await client.query<{ there: boolean }>(
    "select to_regclass('migration') is not null as there",
  );
  if (found[0]?.there !== true) {
    await client.query(
      "create table migration (name text primary key, applied_at timestamptz not null default now())",
    );
    return [];
  }
  const { rows } = await client.query<{ name: string }>("select name from migration");
  return rows.map((row) => row.name);
}

export const migrationFiles = (): string[] =>
  readdirSync(new URL("migrations/", import.meta.url))
    .filter((name) => /^\d{4}-.+\.sql$/.test(name))
    .toSorted();
