/** CPU time of a process and its children, from /proc: robust against whatever else the machine does. */
import { readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = 100;

interface Process {
  parent: number;
  seconds: number;
}

function processes(): Map<number, Process> {
  const all = new Map<number, Process>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      // The command may hold spaces and brackets; the fields after its last bracket do not.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // user and system time; those of children that were waited for are their own before that
      const ticks = [11, 12].reduce((sum, i) => sum + Number(fields[i]), 0);
      all.set(Number(name), { parent: Number(fields[1]), seconds: ticks / ticksPerSecond });
    } catch {
      // It ended meanwhile.
    }
  }
  return all;
}

/** Of the process and everything below it. */
export function cpuSeconds(pid: number): number {
  const all = processes();
  const isBelow = (id: number): boolean => {
    for (let at: number | undefined = id; at !== undefined && at > 1; at = all.get(at)?.parent) {
      if (at === pid) return true;
    }
    return false;
  };
  let seconds = 0;
  for (const [id, each] of all) if (isBelow(id)) seconds += each.seconds;
  return seconds;
}
