/**
 * The embedded PostgreSQL server: the real one, as a child process, private to this process and
 * living in the data folder. In order:
 *
 * own the folder      one Millrace process per data folder (`data-folder-lock.ts`)
 * find the programs   from the npm package of the platform (`native-binaries.ts`)
 * clear leftovers     of a predecessor that was killed (`leftover-server.ts`)
 * create the cluster  on the first start (`cluster.ts`)
 * run the server      on a free loopback port, tied to our life (`server.ts`, `tied-process.ts`)
 *
 * Everything is in the data folder: `postgres/` (the cluster), `postgres-password`, `lock.<n>`, and
 * perhaps `postgres-binaries-<version>/`. As root the server runs as another user, `server-user.ts`.
 */
import { mkdir, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { Client, DatabaseError } from "pg";
import { StartRefusal } from "../../engine/start-refusal.ts";
import { clusterPath, createCluster, databaseUser, findCluster } from "./cluster.ts";
import { lockDataFolder, type DataFolderLock } from "./data-folder-lock.ts";
import { inDataFolder } from "./file-trouble.ts";
import { clearLeftovers } from "./leftover-server.ts";
import { prepareNativeBinaries } from "./native-binaries.ts";
import { createPassword, findPassword, passwordPath } from "./password-file.ts";
import { launchServer, type Server } from "./server.ts";
import { chooseServerUser } from "./server-user.ts";

export interface EmbeddedPostgres {
  /** `postgres://user:password@127.0.0.1:port/millrace`. Holds the password: not for logs. */
  url: string;
  port: number;
  pid: number;
  /**
   * The folder of the server's socket, which is some 15 % faster than the port: give it to `pg` as
   * `host`, with the same port, user, password and database. Undefined where its path is too long.
   */
  socketDir: string | undefined;
  /** Ends the server, resolves when it has gone and the folder is free. May be called again. */
  stop(): Promise<void>;
  /**
   * Resolves when the server ends without `stop` having been asked. The folder stays ours: call
   * `stop` before starting another server on it.
   */
  exited: Promise<{ code: number | null; log: string }>;
}

export interface EmbeddedPostgresOptions {
  /** The server's data goes into `<dataDir>/postgres`. Created if missing. */
  dataDir: string;
  log?: (event: string, fields?: Record<string, unknown>) => void;
  /** Further server settings, `name: value`. They show in `ps`. */
  settings?: Record<string, string>;
  /** Default: any that is free. Given when a server comes back to clients that know its port. */
  port?: number;
  /** Default true. False is for tests: faster; a killed server may lose its last commits. */
  fsync?: boolean;
}

const databaseName = "millrace";

/** Throws a `StartRefusal` for whatever the person who starts us can put right. */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const wanted = resolve(options.dataDir);
  return inDataFolder(wanted, async () => {
    await mkdir(wanted, { recursive: true });
    const dataDir = await realpath(wanted);
    const lock = await lockDataFolder(dataDir);
    try {
      return await startOwned(dataDir, options, lock);
    } catch (error) {
      await lock.release();
      throw error;
    }
  });
}

async function startOwned(
  dataDir: string,
  options: EmbeddedPostgresOptions,
  lock: DataFolderLock,
): Promise<EmbeddedPostgres> {
  const { log = () => {}, settings = {}, fsync = true } = options;
  const start = Date.now();
  const clusterDir = clusterPath(dataDir);
  const user = await chooseServerUser(clusterDir);
  const binaries = await prepareNativeBinaries({ dataDir, user });

  const exists = await findCluster(clusterDir, binaries.major);
  const password = await passwordFor(dataDir, exists);
  if (exists) {
    const stopped = await clearLeftovers(clusterDir);
    if (stopped !== undefined) log("EmbeddedPostgresLeftoverStopped", { pid: stopped });
  } else {
    await createCluster({ dataDir, binaries, user, password, fsync });
    log("EmbeddedPostgresCreated", { folder: clusterDir, milliseconds: Date.now() - start });
  }

  const server = await launchServer({
    clusterDir,
    binaries,
    user,
    port: options.port,
    fsync,
    settings,
    onRecovery: () => log("EmbeddedPostgresRecovering", { folder: clusterDir }),
  });
  try {
    await ensureDatabase(server.port, password);
  } catch (error) {
    await server.stop();
    throw error;
  }
  const { port, pid } = server;
  log("EmbeddedPostgresStarted", { pid, port, milliseconds: Date.now() - start });
  return handle(server, password, log, lock);
}

function handle(
  server: Server,
  password: string,
  log: NonNullable<EmbeddedPostgresOptions["log"]>,
  lock: DataFolderLock,
): EmbeddedPostgres {
  const { port, pid, socketDir } = server;
  let stopping: Promise<void> | undefined;

  const stop = async () => {
    await server.stop();
    // Not before the server has gone: the next owner would find it running.
    await lock.release();
    log("EmbeddedPostgresStopped", { pid });
  };
  const exited = new Promise<{ code: number | null; log: string }>((tell) => {
    void server.gone.then(({ code }) => {
      if (stopping !== undefined) return;
      log("EmbeddedPostgresExited", { pid, code });
      tell({ code, log: server.log() });
    });
  });

  const url = `postgres://${databaseUser}:${password}@127.0.0.1:${port}/${databaseName}`;
  return { url, port, pid, socketDir, exited, stop: () => (stopping ??= stop()) };
}

async function passwordFor(dataDir: string, clusterExists: boolean): Promise<string> {
  const password = await findPassword(dataDir);
  if (password !== undefined) return password;
  if (!clusterExists) return createPassword(dataDir);
  throw new StartRefusal(
    `The database in ${clusterPath(dataDir)} cannot be opened because its password file ${passwordPath(dataDir)} is missing; restore that file, or move the database away to begin with an empty one.`,
  );
}

/** At every start, not only the first: a crash may have come between the cluster and its database. */
async function ensureDatabase(port: number, password: string): Promise<void> {
  const login = { host: "127.0.0.1", port, user: databaseUser, password };
  try {
    await withClient({ ...login, database: databaseName }, async () => {});
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== "3D000") throw error;
    await withClient({ ...login, database: "postgres" }, async (client) => {
      await client.query(`create database ${databaseName}`);
    });
  }
}

async function withClient(
  login: ConstructorParameters<typeof Client>[0],
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = new Client(login);
  client.on("error", () => {}); // a lost connection fails the query that waits for it
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
