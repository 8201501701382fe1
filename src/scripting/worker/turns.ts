/**
 * Whose turn it is. Waiting jobs are taken script by script, in a round, so that a thousand calls of
 * one script do not stand before the first call of another.
 *
 * Calls cannot be taken back once they run, so how many workers a script may occupy depends on how it
 * has behaved:
 *
 * quick    its last call ended soon. It may occupy all workers.
 * unknown  it has not run yet. It may occupy all but one.
 * slow     it ran long or into a limit lately. All slow scripts together may occupy all but one.
 *
 * So a worker is left for the well-behaved whatever the others do, and a lone busy script that is
 * quick has the whole pool.
 */
export type Pace = "quick" | "unknown" | "slow";

export interface Turns<Job> {
  add(script: string, job: Job): void;
  /** Takes a waiting job out; false when it is not waiting. */
  remove(script: string, job: Job): boolean;
  /** The next job that may start, counted as running from now on. */
  next(): Job | undefined;
  ended(script: string, tookMs: number, hitLimit: boolean): void;
  /** All waiting jobs, taken out. */
  drain(): Job[];
}

/** A call that takes longer makes its script a slow one. */
const slowMs = 100;
/** How long a script is remembered as slow after its last offence. */
const forgiveMs = 60_000;
/** Scripts remembered. */
const mostScripts = 5000;

export function createTurns<Job>(workers: number, now: () => number): Turns<Job> {
  const share = Math.max(1, workers - 1);
  const waiting = new Map<string, Job[]>();
  const running = new Map<string, number>();
  const behaved = new Map<string, { pace: Pace; until: number }>();

  const runningOf = (script: string) => running.get(script) ?? 0;
  const paceOf = (script: string): Pace => {
    const last = behaved.get(script);
    if (last === undefined) return "unknown";
    return last.pace === "slow" && now() > last.until ? "unknown" : last.pace;
  };
  const slowRunning = () =>
    [...running].reduce((sum, [script, count]) => sum + (paceOf(script) === "slow" ? count : 0), 0);
  const mayStart = (script: string): boolean => {
    const pace = paceOf(script);
    if (pace === "quick") return true;
    return (pace === "slow" ? slowRunning() : runningOf(script)) < share;
  };

  return {
    add(script, job) {
      const jobs = waiting.get(script);
      if (jobs === undefined) waiting.set(script, [job]);
      else jobs.push(job);
    },
    remove(script, job) {
      const jobs = waiting.get(script);
      const index = jobs?.indexOf(job) ?? -1;
      if (jobs === undefined || index === -1) return false;
      jobs.splice(index, 1);
      if (jobs.length === 0) waiting.delete(script);
      return true;
    },
    next() {
      for (const [script, jobs] of waiting) {
        if (!mayStart(script)) continue;
        const job = jobs.shift();
        // To the end of the round: a Map keeps the order in which keys were set.
        waiting.delete(script);
        if (jobs.length > 0) waiting.set(script, jobs);
        running.set(script, runningOf(script) + 1);
        return job;
      }
      return undefined;
    },
    ended(script, tookMs, hitLimit) {
      const left = runningOf(script) - 1;
      if (left > 0) running.set(script, left);
      else running.delete(script);
      const isSlow = hitLimit || tookMs > slowMs;
      const wasSlow = paceOf(script) === "slow";
      behaved.delete(script);
      // One quick call does not make up for a slow one: the next may be slow again.
      if (isSlow) behaved.set(script, { pace: "slow", until: now() + forgiveMs });
      else if (wasSlow) behaved.set(script, { pace: "slow", until: now() + forgiveMs / 4 });
      else behaved.set(script, { pace: "quick", until: Infinity });
      if (behaved.size > mostScripts) {
        for (const oldest of behaved.keys()) {
          behaved.delete(oldest);
          break;
        }
      }
    },
    drain() {
      const jobs = [...waiting.values()].flat();
      waiting.clear();
      return jobs;
    },
  };
}
