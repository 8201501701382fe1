import type { JobExecution } from "./execute-run.ts";
import type { InstancePorts, Outcome } from "./instances.ts";

/**
 * Waits for a run that has become a job. When this node loses it (it stops, was taken for dead, or a
 * cancel ended the run), the caller is told how far the instance is: settled, or accepted and under way.
 */
export async function outcomeOfJob(
  { jobs, store }: InstancePorts,
  execution: JobExecution,
): Promise<Outcome> {
  const { stored, run } = execution;
  const settled = await jobs.run(execution);
  if (settled !== undefined) return { instance: settled, accepted: false };
  const { domain, flow, id } = stored;
  const instance = (await store.find({ domain, flow, reference: id })) ?? stored;
  const isUnderWay = instance.status === "B" || run.hop.kind === "updateData";
  return { instance, accepted: isUnderWay };
}
