/**
 * The connection pool in our words. Hot statements are named, which makes the server keep their
 * plan (an unnamed one costs 1.7 times as much). A connection that is lost, refused or timed out is
 * `StorageUnavailable`: callers answer 503 and the pool heals by itself.
 */
import { Pool, types as parsers, type CustomTypesConfig, type PoolClient } from "pg";

type TypeId = (typeof parsers.builtins)[keyof typeof parsers.builtins];
import { StorageUnavailable } from "../../engine/storage-unavailable.ts";

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  statementTimeoutMs: number;
  /** Told of connections that break while idle; nothing to do but to know. */
  onError?: (error: Error) => void;
  applicationName?: string;
}

export interface Statement {
  /** Unique name; absent for statements that are composed at run time. */
  name?: string;
  text: string;
}

export type Row = Record<string, unknown>;

export interface Queries {
  query<R = Row>(statement: Statement | string, values?: unknown[]): Promise<R[]>;
}

export interface Database extends Queries {
  /** All or nothing. The connection goes back to the pool whatever happens. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  readonly url: string;
  /** Connections that there may be at once. */
  readonly poolSize: number;
  /** Of the pool, now; `waiting` are those who want one. */
  readonly connections: { used: number; idle: number; waiting: number };
  close(): Promise<void>;
}

// int8 as number: revisions and sequence numbers stay far below 2^53. Timestamps as ISO text with
// the server's microseconds cut to milliseconds would lose order; we take Date, order comes from seq.
const int8 = parsers.builtins.INT8;
const types: CustomTypesConfig = {
  getTypeParser: (oid: TypeId, format?: "text" | "binary") =>
    oid === int8 ? Number : parsers.getTypeParser(oid, format),
};

/** Over the server's own limit: only a server that has gone silent lets it pass. */
const silenceMs = 2000;

export function openDatabase(options: DatabaseOptions): Database {
  const { statementTimeoutMs } = options;
  const pool = new Pool({
    connectionString: options.url,
    max: options.poolSize,
    types,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + silenceMs,
    // A node that hangs in the middle of a transaction must not keep its locks from the others.
    idle_in_transaction_session_timeout: statementTimeoutMs + silenceMs,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: options.applicationName ?? "millrace",
  });
  let closing: Promise<void> | undefined;
  pool.on("error", (error) => {
    if (closing !== undefined) return; // a connection being closed has nothing more to say
    // The pool hangs the whole client on the error, too much for a log line.
    delete (error as { client?: unknown }).client;
    options.onError?.(error);
  });

  return {
    url: options.url,
    poolSize: options.poolSize,
    async query(statement, values) {
      return await run(pool, statement, values);
    },
    async transaction(work) {
      const client = await pool.connect().catch((cause: unknown) => {
        throw asUnavailable(cause);
      });
      let broken: Error | undefined;
      // The pool listens only while a client is idle. A connection lost in here is told by the
      // statement that waits, or by the next one; without a listener it would end the process.
      const onLost = (error: Error) => (broken = error);
      client.on("error", onLost);
      try {
        await run(client, "begin");
        const result = await work({ query: (s, v) => run(client, s, v) });
        await run(client, "commit");
        return result;
      } catch (cause) {
        // A connection that is gone, or silent, is not asked again: the server rolls back without it.
        if (cause instanceof StorageUnavailable) broken = cause;
        else {
          await client.query("rollback").catch((error: Error) => {
            broken = error;
          });
        }
        throw cause;
      } finally {
        client.off("error", onLost);
        client.release(broken);
      }
    },
    get connections() {
      const { totalCount, idleCount, waitingCount } = pool;
      return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
    },
    close: () => (closing ??= pool.end()),
  };
}

async function run<R>(
  target: Pool | PoolClient,
  statement: Statement | string,
  values: unknown[] = [],
): Promise<R[]> {
  const config = typeof statement === "string" ? { text: statement } : statement;
  try {
    const result = await target.query({ ...config, values });
    return result.rows as R[];
  } catch (cause) {
    throw asUnavailable(cause);
  }
}

const connectionTrouble = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "ETIMEDOUT",
  "EPIPE",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
]);

/**
 * SQLSTATE 08* connection exceptions, 57P0x shutdown and start-up, 53* out of resources, 40001 and
 * 40P01 rolled back in favour of somebody else (nothing was written, the next try will do), 57014 over
 * the statement's time, 25P03 over the transaction's, 25006 a primary that has become a standby;
 * 28* and 3D* a login or database that was there at start: the database is not there for now.
 */
const awayStates = /^(08|53|57P0|40001|40P01|57014|25P03|25006|28|3D)/;

/** What the driver says without a code. */
const awayWords =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end/;

/** The database is away, or answers too late. Every other error is passed on as it is. */
export function asUnavailable(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  const { code = "", syscall } = cause as NodeJS.ErrnoException;
  const away =
    connectionTrouble.has(code) ||
    (code === "ENOENT" && syscall === "connect") || // a unix socket that is not there yet
    awayStates.test(code) ||
    awayWords.test(cause.message);
  return away ? new StorageUnavailable("The database does not answer.", { cause }) : cause;
}

/** SQLSTATE of a database error, else undefined. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof Error ? (error as { code?: string }).code : undefined;
