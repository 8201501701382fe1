/**
 * Health checks, run when somebody asks. A check that hangs is unhealthy after two seconds, and is
 * not started a second time while it hangs: many probes of a stuck database stay one query.
 */
export interface HealthCheck {
  name: string;
  /** `live`: the process itself. `ready`: what it needs to answer requests. */
  tags: readonly ("live" | "ready")[];
  run(): Promise<{ healthy: boolean; description?: string }>;
}

export interface HealthEntry {
  key: string;
  duration: string;
  status: "Healthy" | "Unhealthy";
  tags: readonly string[];
  data: Record<string, never>;
  description?: string;
  error?: string;
}

export interface HealthReport {
  status: "Healthy" | "Unhealthy";
  duration: string;
  info: HealthEntry[];
}

export type Probe = (tag?: "live" | "ready") => Promise<HealthReport>;

export function createProbe(checks: readonly HealthCheck[], timeoutMs = 2000): Probe {
  const bounded = checks.map((check) => ({ check, run: shareRuns(check, timeoutMs) }));
  return async (tag) => {
    const started = performance.now();
    const asked = bounded.filter(({ check }) => tag === undefined || check.tags.includes(tag));
    const info = await Promise.all(asked.map(({ run }) => run()));
    const healthy = info.every((entry) => entry.status === "Healthy");
    return { status: healthy ? "Healthy" : "Unhealthy", duration: since(started), info };
  };
}

/** All who ask while a run is under way wait for that run, each at most `timeoutMs`. */
function shareRuns(check: HealthCheck, timeoutMs: number): () => Promise<HealthEntry> {
  let running: Promise<HealthEntry> | undefined;
  return () => {
    running ??= runOnce(check).finally(() => {
      running = undefined;
    });
    return withinTime(running, check, timeoutMs);
  };
}

async function runOnce(check: HealthCheck): Promise<HealthEntry> {
  const started = performance.now();
  try {
    const { healthy, description } = await check.run();
    return entry(check, healthy, since(started), description === undefined ? {} : { description });
  } catch (error) {
    // The class of the error, not its text: anybody may read /health, and texts name hosts and users.
    const name = error instanceof Error ? error.name : "Error";
    return entry(check, false, since(started), { error: name });
  }
}

async function withinTime(
  running: Promise<HealthEntry>,
  check: HealthCheck,
  timeoutMs: number,
): Promise<HealthEntry> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<HealthEntry>((resolve) => {
    timer = setTimeout(() => {
      const error = `no answer within ${timeoutMs} ms`;
      resolve(entry(check, false, timeSpan(timeoutMs), { error }));
    }, timeoutMs);
  });
  try {
    return await Promise.race([running, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

const entry = (
  check: HealthCheck,
  healthy: boolean,
  duration: string,
  more: { description?: string; error?: string },
): HealthEntry => ({
  key: check.name,
  duration,
  status: healthy ? "Healthy" : "Unhealthy",
  tags: check.tags,
  data: {},
  ...more,
});

const since = (started: number) => timeSpan(performance.now() - started);

/** `00:00:00.0012`, the form clients of the public system read. */
export function timeSpan(ms: number): string {
  const seconds = ((ms / 1000) % 60).toFixed(4).padStart(7, "0");
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${seconds}`;
}

const two = (value: number) => String(Math.trunc(value)).padStart(2, "0");
