/** The cluster: PostgreSQL's word for the folder with all databases of one server. */
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { StartRefusal } from "../../engine/start-refusal.ts";
import type { NativeBinaries } from "./native-binaries.ts";
import { give, type ServerUser } from "./server-user.ts";
import { startTiedProcess } from "./tied-process.ts";

export const clusterPath = (dataDir: string) => join(dataDir, "postgres");

/** The user that owns the databases; not a user of the operating system. */
export const databaseUser = "millrace";

const stagingPrefix = "postgres.new-";

/**
 * How the server is told its folder, given that it is started in it. Root may keep the data folder
 * where the server's user cannot walk to it (below its own home of mode 0700, say), and no folder
 * of the user's gets another mode because of us. But a process is in its working directory without
 * having walked there: the child changes into the folder while it is still root, and from then on
 * reaches it through this name. PostgreSQL itself works with paths relative to that directory.
 */
export function seenByServer(dir: string, user: ServerUser | undefined): string {
  return process.platform === "linux" && user !== undefined ? "/proc/self/cwd" : dir;
}

/** False when there is none yet. A folder of another major version, or with other things, is refused. */
export async function findCluster(clusterDir: string, major: string): Promise<boolean> {
  const entries = await readdir(clusterDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (entries === undefined) return false;
  if (entries.length === 0) {
    await rmdir(clusterDir);
    return false;
  }

  if (!entries.includes("PG_VERSION")) {
    throw new StartRefusal(
      `The folder ${clusterDir} is not empty and holds no PostgreSQL database; move it away, or choose another folder with MILLRACE_DATA_DIR.`,
    );
  }
  const found = (await readFile(join(clusterDir, "PG_VERSION"), "utf8")).trim();
  if (found !== major) {
    throw new StartRefusal(
      `The database in ${clusterDir} was written by PostgreSQL ${found}, and the embedded server is PostgreSQL ${major}; start the Millrace version that wrote it and move the data over with pg_dump and pg_restore, or choose another folder with MILLRACE_DATA_DIR.`,
    );
  }
  return true;
}

export interface CreateClusterOptions {
  dataDir: string;
  binaries: NativeBinaries;
  user: ServerUser | undefined;
  password: string;
  /** False for tests: a power cut may then lose the cluster. */
  fsync: boolean;
}

/**
 * Made aside and renamed when complete: a kill in the middle leaves a folder that the next start
 * sweeps away, never half a cluster under the real name.
 *
 * The new files are synced (0.06 s on a local disk). Without that, a power cut in the first half minute could
 * take system tables from under transactions that were already acknowledged.
 */
export async function createCluster(options: CreateClusterOptions): Promise<void> {
  const { dataDir, binaries, user } = options;
  await sweepStaging(dataDir);
  const staging = await mkdtemp(join(dataDir, stagingPrefix)); // mode 0700
  try {
    const cluster = join(staging, "cluster");
    const passwordFile = join(staging, "password");
    await mkdir(cluster, { mode: 0o700 });
    await writeFile(passwordFile, options.password, { mode: 0o600 });
    for (const path of [passwordFile, cluster, staging]) await give(path, user);

    const seen = seenByServer(cluster, user);
    const initdb = await startTiedProcess(
      binaries.initdb,
      [
        `--pgdata=${seen}`,
        `--username=${databaseUser}`,
        "--auth=scram-sha-256",
        // From a file of its own, which the server's user may read: arguments show in `ps`.
        `--pwfile=${seen === cluster ? passwordFile : `${seen}/../password`}`,
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
        ...(options.fsync ? [] : ["--no-sync"]),
      ],
      { cwd: cluster, user },
    );
    const { code } = await initdb.gone;
    if (code !== 0) throw cannotCreate(dataDir, initdb.log());

    await rename(cluster, clusterPath(dataDir));
    if (options.fsync) await syncFolder(dataDir);
  } finally {
    await rm(staging, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function sweepStaging(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(stagingPrefix)) continue;
    // An initdb whose owner was killed may still be writing there, for the moment it takes to end.
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 10 });
  }
}

async function syncFolder(dir: string): Promise<void> {
  if (process.platform === "win32") return; // a folder cannot be opened there
  const folder = await open(dir, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function cannotCreate(dataDir: string, log: string): StartRefusal {
  const nameless = /could not look up effective user ID (\d+)/.exec(log)?.[1];
  if (nameless !== undefined) {
    return new StartRefusal(
      `The embedded database cannot be created by the user id ${nameless}, because PostgreSQL insists on a user with a name and /etc/passwd has none for it; add one (useradd --uid ${nameless} millrace), start Millrace as another user, or set DATABASE_URL to use a PostgreSQL server of your own.`,
    );
  }
  return new StartRefusal(
    `The embedded database cannot be created in ${clusterPath(dataDir)}; initdb says:\n${log.trim()}`,
  );
}
