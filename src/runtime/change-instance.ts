/** Sends a transition to an instance: now and to its next rest (`sync`), or accepted and queued. */
import { setTimeout as delay } from "node:timers/promises";
import { stringifyJson } from "../engine/exact-json.ts";
import type { Author, Instance } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import { admit, isSpecial, type Actor, type Admitted } from "../engine/transition/admit.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import type { QueuedRequest } from "../engine/transition/checkpoint.ts";
import { nothingPending, type Payload, type Program } from "../engine/transition/run.ts";
import { rolesAllow } from "../engine/role-gate.ts";
import { checkPayload } from "./check-payload.ts";
import { executeRun } from "./execute-run.ts";
import type { InstancePorts, Outcome } from "./instances.ts";
import { loadProgram } from "./load-program.ts";
import { dataUpTo } from "./read-data.ts";

export interface TransitionRequest {
  domain: string;
  workflow: string;
  /** Id or business key. */
  instance: string;
  transitionKey: string;
  sync: boolean;
  idempotencyKey: string | undefined;
  payload: Payload;
  author: Author;
  roles: readonly string[];
  /** Masked. */
  headers: Readonly<Record<string, string>>;
  traceId: string | undefined;
  /** Aborted when the caller has gone: no need to wait for an outcome to repeat then. */
  signal: () => AbortSignal;
}

export async function changeInstance(
  ports: InstancePorts,
  request: TransitionRequest,
): Promise<Outcome> {
  for (;;) {
    const outcome = await attempt(ports, request);
    if (outcome !== "again") return outcome;
  }
}

/** `again`: the instance was changed between read and write, by something that does not concern us. */
async function attempt(
  ports: InstancePorts,
  request: TransitionRequest,
): Promise<Outcome | "again"> {
  const { domain, workflow: flow, transitionKey, idempotencyKey } = request;
  const instance = await ports.store.find({ domain, flow, reference: request.instance });
  if (instance === undefined) {
    await loadProgram(ports.catalogue, { domain, workflow: flow, version: undefined });
    throw problems.instanceNotFoundToChange({ domain, workflow: flow, instance: request.instance });
  }
  if (idempotencyKey !== undefined) {
    const repeated = await repeatOf(ports, request, instance, idempotencyKey);
    if (repeated !== undefined) return repeated;
  }
  const program = await loadProgram(ports.catalogue, {
    domain,
    workflow: flow,
    version: instance.flowVersion,
  });
  const admitted = admitOrThrow(ports, program, instance, request);
  await checkPayload(ports, admitted.transition, request.payload.attributes);
  const queued: QueuedRequest = {
    kind: admitted.kind,
    transitionKey: admitted.transition.key,
    trigger: admitted.trigger,
    payload: request.payload,
    author: request.author,
    headers: request.headers,
    idempotencyKey,
  };
  const underWay = ports.inFlight.current(instance.id);
  if (underWay !== undefined) {
    const same =
      idempotencyKey !== undefined &&
      underWay.idempotencyKey === idempotencyKey &&
      underWay.transitionKey === transitionKey;
    if (!same && !isSpecial(admitted.kind)) throw busy(instance);
    await underWay.ended;
    return "again";
  }
  const flight = { transitionKey, idempotencyKey };
  return ports.inFlight.enter(instance.id, flight, () =>
    request.sync
      ? changeNow(ports, program, instance, admitted, queued, request)
      : acceptChange(ports, instance, admitted, queued),
  );
}

function admitOrThrow(
  ports: InstancePorts,
  { workflow }: Program,
  instance: Instance,
  request: TransitionRequest,
): Admitted {
  const { transitionKey: key, author, roles } = request;
  const actor: Actor = "user";
  const admitted = admit(workflow, instance, key, actor);
  if (admitted instanceof Problem) {
    // Made by another request that was under way when this one arrived: a conflict, not a mistake.
    const gone = admitted.code === problems.transitionNotAvailable.row.code;
    if ((gone || instance.status === "C") && ports.inFlight.wasJustMade(instance.id, key)) {
      throw problems.transitionQueued({ transition: key, instance: instance.id });
    }
    throw admitted;
  }
  const { transition } = admitted;
  if (ports.enforceRoles && !rolesAllow(transition.roles, { roles, author, instance })) {
    throw problems.roleDenied({ what: `the transition '${transition.key}'` });
  }
  return admitted;
}

const busy = (instance: Instance) =>
  problems.instanceBusy({ instance: instance.id }, { target: instance.id });

async function changeNow(
  ports: InstancePorts,
  program: Program,
  instance: Instance,
  { transition, kind }: Admitted,
  queued: QueuedRequest,
  { traceId }: TransitionRequest,
): Promise<Outcome | "again"> {
  const run = beginRun({ ...queued, program, instance, transition }, ports.tools);
  const executed = await executeRun(ports, {
    run,
    stored: instance,
    jobId: undefined,
    request: queued,
    traceId,
    signal: undefined,
  });
  switch (executed.kind) {
    case "done":
      return { instance: executed.instance, accepted: false };
    case "refused":
      throw new PayloadRejected(transition.key, executed.errors);
    default:
      // Another node was faster. What may run beside others tries again, as does a repeat, which
      // will find the outcome of the first; anything else has lost the race.
      if (isSpecial(kind) || queued.idempotencyKey !== undefined) return "again";
      throw busy(instance);
  }
}

/** Status and job are one write: a 202 means that the work cannot be lost. */
async function acceptChange(
  ports: InstancePorts,
  instance: Instance,
  { kind }: Admitted,
  queued: QueuedRequest,
): Promise<Outcome | "again"> {
  // updateData runs beside whatever else runs: it leaves the status as it is.
  const status = kind === "updateData" ? instance.status : "B";
  const accepted: Instance = { ...instance, status };
  const job = ports.jobs.prepare({
    type: JobType.transition,
    instance: accepted,
    sourceState: instance.current.key,
    transitionKey: queued.transitionKey,
    payload: stringifyJson({ request: queued }),
  });
  ports.faultPoint("before-accept-write");
  const written = await ports.store.write({
    ...nothingPending,
    instance: accepted,
    incident: undefined,
    dataChanged: false,
    addJobs: [job.row],
  });
  ports.faultPoint("after-accept-write");
  if (!written) {
    job.withdraw();
    if (isSpecial(kind) || queued.idempotencyKey !== undefined) return "again";
    throw busy(instance);
  }
  const stored: Instance = { ...accepted, rev: instance.rev + 1 };
  job.begin(stored);
  return { instance: stored, accepted: true };
}

const repeatWaitMs = 20;

/**
 * The outcome of the first request with this idempotency key: its status, and the data as its chain
 * left them. One that is still under way on another node is waited for.
 */
async function repeatOf(
  ports: InstancePorts,
  { transitionKey, sync, signal }: TransitionRequest,
  instance: Instance,
  idempotencyKey: string,
): Promise<Outcome | undefined> {
  const of = { instanceId: instance.id, transitionKey, idempotencyKey };
  for (;;) {
    const repeat = await ports.store.findRepeat(of);
    if (repeat === undefined) return undefined;
    if (repeat.status === undefined || repeat.lastSeq === undefined) {
      await delay(repeatWaitMs, undefined, { signal: signal() });
      continue;
    }
    const { status, lastSeq } = repeat;
    const then =
      lastSeq === instance.lastSeq ? instance : await dataUpTo(ports.store, instance, lastSeq);
    return { instance: { ...then, status }, accepted: !sync };
  }
}
