/**
 * What a predecessor that died may have left in the cluster: a server still running (for as long as
 * it takes to end, or for good if its watcher was killed too), a `postmaster.pid` without a server,
 * sockets without a listener. The caller owns the data folder, so nothing here is in use.
 */
import { readdir, readFile, readlink, realpath, rm } from "node:fs/promises";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { isRunning } from "./process-identity.ts";
import { endStepwise } from "./tied-process.ts";

/** Answers the pid of the server that had to be stopped, if there was one. */
export async function clearLeftovers(clusterDir: string): Promise<number | undefined> {
  const pid = await findPostmasterPid(clusterDir);
  const running = pid !== undefined && (await isRunning(pid));
  const ours = running && (await isServerOf(clusterDir, pid));
  if (ours) await stopServer(pid);
  // The number belongs to somebody else by now. PostgreSQL looks only whether it is taken, and would
  // refuse to start; of a number that is free it knows itself that the file is stale.
  else if (running) await rm(join(clusterDir, "postmaster.pid"), { force: true });
  await removeSockets(clusterDir);
  return ours ? pid : undefined;
}

async function findPostmasterPid(clusterDir: string): Promise<number | undefined> {
  const file = await readFile(join(clusterDir, "postmaster.pid"), "utf8").catch(() => "");
  const pid = Number.parseInt(file, 10);
  return pid > 1 ? pid : undefined;
}

/** A server's working directory is its cluster; its name is checked so that no shell in there is hit. */
async function isServerOf(clusterDir: string, pid: number): Promise<boolean> {
  const folder = await realpath(clusterDir);
  try {
    if (process.platform === "linux") {
      const name = await readFile(`/proc/${pid}/comm`, "utf8");
      return name.trim() === "postgres" && (await readlink(`/proc/${pid}/cwd`)) === folder;
    }
    const ps = await promisify(execFile)("ps", ["-o", "command=", "-p", String(pid)]);
    return ps.stdout.includes("postgres") && ps.stdout.includes(folder);
  } catch {
    return false; // gone meanwhile, or another user's and so not ours
  }
}

async function stopServer(pid: number): Promise<void> {
  const kill = (signal: NodeJS.Signals) => {
    try {
      process.kill(pid, signal);
    } catch {
      // It has gone since we looked.
    }
  };
  await endStepwise(kill, async (milliseconds) => {
    for (const deadline = Date.now() + milliseconds; Date.now() < deadline; await sleep(20)) {
      if (!(await isRunning(pid))) return true;
    }
    return false;
  });
}

async function removeSockets(clusterDir: string): Promise<void> {
  for (const name of await readdir(clusterDir)) {
    if (name.startsWith(".s.PGSQL.")) await rm(join(clusterDir, name), { force: true });
  }
}
