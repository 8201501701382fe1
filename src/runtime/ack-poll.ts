/**
 * The caller has seen the state its poll ended in: the run that paused there goes on. Nothing waits:
 * nothing to do. A parent passes it on to the subflow that is open.
 */
import type { LongPoll } from "../engine/definition/model.ts";
import { isTerminal, type Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import { rolesAllow } from "../engine/role-gate.ts";
import { resumeWaiting } from "../engine/transition/resume-run.ts";
import type { Program } from "../engine/transition/run.ts";
import { roleCaller, type Viewer } from "./check-roles.ts";
import type { InstancePorts } from "./instances.ts";
import { loadProgram } from "./load-program.ts";
import { longPollAt, overridesOf } from "./overrides.ts";
import { scriptRequest } from "./script-request.ts";

export async function ackPoll(
  ports: InstancePorts,
  polled: Instance,
  viewer: Viewer,
): Promise<void> {
  const instance = await leafOf(ports, polled);
  const { id, status, current } = instance;
  if (isTerminal(status)) throw problems.instanceTerminal({ instance: id, status });
  const { domain, flow: workflow, flowVersion: version } = instance;
  const program = await loadProgram(ports.catalogue, { domain, workflow, version });
  const overrides = await overridesOf(ports.catalogue, instance);
  const longPoll = longPollAt(program.workflow, overrides, current.key);
  if (longPoll?.terminate !== true) return;
  if (!(await mayAck(ports, program, instance, longPoll, viewer))) {
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

async function mayAck(
  ports: InstancePorts,
  program: Program,
  instance: Instance,
  { roles: grants, rule }: LongPoll,
  viewer: Viewer,
): Promise<boolean> {
  if (rule === undefined) {
    return rolesAllow(grants, await roleCaller(ports, grants, instance, viewer));
  }
  const { author, roles, request } = viewer;
  const headers = request?.headers ?? {};
  const waiting = { program, instance, phase: "auto", author, headers, roles } as const;
  const run = resumeWaiting(waiting, ports.tools);
  return ports.scripts.holds(scriptRequest(ports, { run, traceId: undefined }, rule));
}
