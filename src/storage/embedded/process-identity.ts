/**
 * Telling one process from another that later got the same number. A pid alone does not do: after a
 * reboot, or in a container where everything has a low pid, it soon belongs to somebody else.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** Identifies a running process; undefined when no such process runs (a zombie does not run). */
export async function findProcessStart(pid: number): Promise<string | undefined> {
  if (!accepts(pid)) return undefined;
  if (process.platform === "linux") return findStartInProc(pid);
  if (process.platform === "win32") return "unknown";
  try {
    const ps = await promisify(execFile)("ps", ["-o", "stat=,lstart=", "-p", String(pid)]);
    const [state = "Z", ...started] = ps.stdout.trim().split(/\s+/);
    return state.startsWith("Z") ? undefined : started.join(" ");
  } catch {
    return undefined; // ps fails when it finds nothing
  }
}

export async function isRunning(pid: number): Promise<boolean> {
  return (await findProcessStart(pid)) !== undefined;
}

function accepts(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"; // it runs, as somebody else
  }
}

async function findStartInProc(pid: number): Promise<string | undefined> {
  let stat: string;
  try {
    stat = await readFile(`/proc/${pid}/stat`, "utf8");
  } catch {
    // Gone since we asked, or hidden (hidepid): then all we know is that the kernel knows it.
    return accepts(pid) ? "hidden" : undefined;
  }
  // The second field is the program's name in brackets and may hold anything; fields are counted
  // after the last bracket: state is the 3rd, the start time in ticks since boot the 22nd.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return undefined;
  return `${await readBootId()} ${fields[19]}`;
}

/** Ticks count from boot, so the boot belongs to the identity. Absent in some sandboxes. */
async function readBootId(): Promise<string> {
  return (await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "")).trim();
}
