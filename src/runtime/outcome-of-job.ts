import type { JobExecution } from "./execute-run.ts";
import type { InstancePorts, Outcome } from "./instances.ts";

/**
 * Waits for a run that has become a job. When this node loses it (it stops, or was taken for dead),
 * another one finishes it: the caller is told that it is accepted.
 */
export async function outcomeOfJob(
  { jobs }: InstancePorts,
  execution: JobExecution,
): Promise<Outcome> {
  const instance = await jobs.run(execution);
  return { instance: instance ?? execution.stored, accepted: instance === undefined };
}
