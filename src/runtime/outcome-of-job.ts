/** What a caller who waits is told: how the instance stands when everything has come to rest. */
import type { Instance } from "../engine/instance.ts";
import type { Executed, JobExecution } from "./execution.ts";
import type { InstancePorts, Outcome } from "./instances.ts";

/** A run that ended; what followed from it (a subflow, its parent) is waited for too. */
export async function outcomeOfRun(
  ports: InstancePorts,
  { instance, followUps }: Pick<Extract<Executed, { kind: "done" }>, "instance" | "followUps">,
): Promise<Outcome> {
  if (followUps.length === 0) return { instance, accepted: false };
  await ports.jobs.follow(followUps);
  return { instance: await readAgain(ports, instance), accepted: false };
}

/**
 * A run that has become a job. When this node loses it (it stops, was taken for dead, or a cancel
 * ended the run), the caller is told how far the instance is: settled, or accepted and under way.
 */
export async function outcomeOfJob(
  ports: InstancePorts,
  execution: JobExecution,
): Promise<Outcome> {
  const { stored, run } = execution;
  const ended = await ports.jobs.run(execution);
  if (ended?.isLatest === true) return { instance: ended.instance, accepted: false };
  const instance = await readAgain(ports, stored);
  if (ended !== undefined) return { instance, accepted: false };
  const isUnderWay = instance.status === "B" || run.hop.kind === "updateData";
  return { instance, accepted: isUnderWay };
}

const readAgain = async ({ store }: InstancePorts, known: Instance): Promise<Instance> =>
  (await store.find({ domain: known.domain, flow: known.flow, reference: known.id })) ?? known;
