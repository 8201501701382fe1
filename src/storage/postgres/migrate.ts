/**
 * Brings the database to this program's schema: the numbered SQL files of `migrations/`, in order,
 * each in a transaction of its own with the row that remembers it.
 *
 * Many nodes may start at once on an empty database. One takes the advisory lock and migrates, the
 * others wait for it and find everything done.
 */
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { StartRefusal } from "../../engine/start-refusal.ts";
import { asUnavailable } from "./database.ts";

const oldestServer = 150_000;
// "mill" as four bytes: the lock's name must be a number.
const migrationLock = 0x6d_69_6c_6c;

export interface MigrationResult {
  applied: string[];
  serverVersion: string;
}

export async function migrate(url: string): Promise<MigrationResult> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on("error", () => {
    // A connection lost between two statements; the next statement reports it.
  });
  try {
    await client.connect();
    const serverVersion = await checkServer(client);
    await client.query("select pg_advisory_lock($1)", [migrationLock]);
    return { applied: await applyMissing(client), serverVersion };
  } catch (cause) {
    throw asUnavailable(cause);
  } finally {
    // Closing the session releases the lock.
    await client.end().catch(() => {});
  }
}

async function checkServer(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ number: number; version: string }>(
    "select current_setting('server_version_num')::int as number, current_setting('server_version') as version",
  );
  const { number, version } = rows[0]!;
  if (number < oldestServer) {
    throw new StartRefusal(
      `The database server is PostgreSQL ${version}; Millrace needs 15 or newer. Point DATABASE_URL to a newer server.`,
    );
  }
  return version;
}

async function applyMissing(client: pg.Client): Promise<string[]> {
  await client.query(
    "create table if not exists migration (name text primary key, applied_at timestamptz not null default now())",
  );
  const { rows } = await client.query<{ name: string }>("select name from migration");
  const done = new Set(rows.map((row) => row.name));
  const known = migrationFiles();
  const foreign = [...done].filter((name) => !known.includes(name));
  if (foreign.length > 0) {
    throw new StartRefusal(
      `The database was migrated by a newer Millrace (it has ${foreign.join(", ")}). Start that version, or restore an older database.`,
    );
  }
  const missing = known.filter((name) => !done.has(name));
  for (const name of missing) {
    const sql = readFileSync(new URL(`migrations/${name}`, import.meta.url), "utf8");
    await client.query("begin");
    try {
      await client.query(sql);
      await client.query("insert into migration (name) values ($1)", [name]);
      await client.query("commit");
    } catch (cause) {
      await client.query("rollback");
      throw new Error(`Migration ${name} failed: ${(cause as Error).message}`, { cause });
    }
  }
  return missing;
}

export const migrationFiles = (): string[] =>
  readdirSync(new URL("migrations/", import.meta.url))
    .filter((name) => /^\d{4}-.+\.sql$/.test(name))
    .toSorted();
