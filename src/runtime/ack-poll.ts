/**
 * The caller has seen the state its poll ended in: the run that paused there goes on. Nothing waits:
 * nothing to do. A parent passes it on to the subflow that is open.
 */
import { isTerminal, type Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import type { Asker } from "./asker.ts";
import type { InstancePorts } from "./instances.ts";
import { loadWorkflow } from "./load-program.ts";
import { longPollAt, overridesOf } from "./overrides.ts";
import { admitsPoll } from "./poll-gate.ts";

export async function ackPoll(ports: InstancePorts, polled: Instance, asker: Asker): Promise<void> {
  const instance = await leafOf(ports, polled);
  const { id, status, current } = instance;
  if (isTerminal(status)) throw problems.instanceTerminal({ instance: id, status });
  const { domain, flow, flowVersion: version } = instance;
  const workflow = await loadWorkflow(ports.catalogue, { domain, workflow: flow, version });
  const overrides = await overridesOf(ports.catalogue, instance);
  const longPoll = longPollAt(workflow, overrides, current.key);
  if (longPoll?.terminate !== true) return;
  if (!(await admitsPoll(ports, { instance, workflow }, longPoll, asker))) {
    throw problems.roleDenied({ what: `the poll of the state '${current.key}'` });
  }
  const job = await ports.jobStore.takePause(id, ports.nodeId);
  if (job === undefined) return;
  ports.held.hold(job.id);
  await ports.jobs.follow([job]);
}

async function leafOf({ store }: InstancePorts, polled: Instance): Promise<Instance> {
  let leaf = polled;
  while (leaf.openChild !== undefined) {
    const child = await store.find({ ...leaf.openChild, reference: leaf.openChild.id });
    if (child === undefined) return leaf;
    leaf = child;
  }
  return leaf;
}
