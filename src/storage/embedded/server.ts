/** One run of the PostgreSQL server on an existing cluster. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartRefusal } from "../../engine/start-refusal.ts";
import { seenByServer } from "./cluster.ts";
import { findFreePort } from "./free-port.ts";
import type { NativeBinaries } from "./native-binaries.ts";
import type { ServerUser } from "./server-user.ts";
import { endStepwise, startTiedProcess, type TiedProcess } from "./tied-process.ts";

export interface LaunchOptions {
  clusterDir: string;
  binaries: NativeBinaries;
  user: ServerUser | undefined;
  /** Undefined: any that is free. */
  port: number | undefined;
  fsync: boolean;
  settings: Record<string, string>;
  onRecovery: () => void;
}

export interface Server extends TiedProcess {
  port: number;
  /** The folder of its socket, if it has one that a client can name. */
  socketDir: string | undefined;
  stop(): Promise<void>;
}

const smallServer = {
  listen_addresses: "127.0.0.1",
  shared_buffers: "128MB",
  max_connections: "200",
  // Failed statements are reported to whoever sent them. In the server's own log they would only
  // carry people's data into our error messages.
  log_min_messages: "log",
};

/** A killed server may then lose its last commits, and a power cut everything. */
const withoutFsync = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

/** The longest socket path that every system allows is 103 bytes; a longer one goes without. */
const longestSocketPath = 103;

/** Starts the server and waits until it takes connections. */
export async function launchServer(options: LaunchOptions): Promise<Server> {
  let withSocket = process.platform !== "win32";
  const patience = Date.now() + 10_000; // for obstacles that pass; most are gone at the first look
  for (;;) {
    const port = options.port ?? (await findFreePort());
    const server = await startServer(options, port, withSocket);
    if (await becomesReady(server, options)) return server;

    const log = server.log();
    if (Date.now() > patience) throw cannotStart(options.clusterDir, log);
    if (/Address already in use/.test(log)) {
      if (options.port !== undefined) await sleep(100); // somebody may be just leaving it
    } else if (withSocket && /could not create any Unix-domain sockets/.test(log)) {
      withSocket = false; // a mounted folder of another system may not know sockets
    } else if (/pre-existing shared memory block|lock file .* already exists/.test(log)) {
      await sleep(100); // processes of a server that was killed are still noticing it
    } else {
      throw cannotStart(options.clusterDir, log);
    }
  }
}

async function startServer(
  options: LaunchOptions,
  port: number,
  withSocket: boolean,
): Promise<Server> {
  const { clusterDir, binaries, user } = options;
  const settings = {
    ...smallServer,
    ...(options.fsync ? {} : withoutFsync),
    port: String(port),
    // Relative to the cluster, where the server works: no length limit, no folder to walk to.
    unix_socket_directories: withSocket ? "." : "",
    ...options.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = await startTiedProcess(
    binaries.postgres,
    ["-D", seenByServer(clusterDir, user), ...args],
    { cwd: clusterDir, user },
  );
  const socketPath = join(clusterDir, `.s.PGSQL.${port}`);
  const reachable = withSocket && Buffer.byteLength(socketPath) <= longestSocketPath;
  return {
    ...server,
    port,
    socketDir: reachable ? clusterDir : undefined,
    stop: () => stopServer(server),
  };
}

async function stopServer(server: TiedProcess): Promise<void> {
  if (server.isGone()) return;
  await endStepwise(
    (signal) => server.kill(signal),
    async (milliseconds) => {
      const waiting = new AbortController();
      const tooLong = sleep(milliseconds, false, { signal: waiting.signal }).catch(() => true);
      const gone = await Promise.race([server.gone.then(() => true), tooLong]);
      waiting.abort();
      return gone;
    },
  );
}

/**
 * Reads what the server says about itself in `postmaster.pid`, as pg_ctl does, rather than knocking
 * at the port: until the file says so, whoever answers there may not be our server. False when the
 * server ended instead.
 *
 * A server that says `starting` is replaying its log after a crash and is waited for however long that
 * takes: giving up would throw the replay away, and the next start would begin it again. One that
 * says nothing for a minute hangs (on its disk, say) and is ended.
 */
async function becomesReady(server: Server, options: LaunchOptions): Promise<boolean> {
  const start = Date.now();
  let told = false;
  while (!server.isGone()) {
    const status = await readStatus(options.clusterDir, server.pid);
    if (status === "ready") return true;
    const waitedMs = Date.now() - start;
    if (status === undefined && waitedMs > 60_000) {
      await server.stop();
      return false;
    }
    if (!told && waitedMs > 2_000) {
      told = true;
      options.onRecovery();
    }
    await Promise.race([sleep(10), server.gone]);
  }
  return false;
}

/** Line 1 is the pid (of an earlier server, until ours has written the file), line 8 the status. */
async function readStatus(clusterDir: string, pid: number): Promise<string | undefined> {
  const file = await readFile(join(clusterDir, "postmaster.pid"), "utf8").catch(() => "");
  const lines = file.split("\n");
  return lines[0] === String(pid) ? lines[7]?.trim() : undefined;
}

function cannotStart(clusterDir: string, log: string): StartRefusal {
  const lastLines = log.trim().split("\n").slice(-15).join("\n");
  return new StartRefusal(
    `The embedded PostgreSQL server cannot start in ${clusterDir}; its last words were:\n${lastLines}`,
  );
}
