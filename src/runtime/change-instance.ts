/** Sends a transition to an instance: now and to its next rest (`sync`), or accepted and queued. */
import { stringifyJson } from "../engine/exact-json.ts";
import type { Transition } from "../engine/definition/model.ts";
import type { Author, Instance, OpenChild } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import {
  admit,
  isForwarded,
  isSpecial,
  resolveSpecial,
  type Admitted,
} from "../engine/transition/admit.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import { findAnywhere, type QueuedRequest } from "../engine/transition/checkpoint.ts";
import type { Program } from "../engine/transition/run.ts";
import { runWrite } from "../storage/instance-store.ts";
import { checkMerge, checkPayload } from "./check-payload.ts";
import { checkRoles } from "./check-roles.ts";
import { executeRun } from "./execute-run.ts";
import type { Executed, JobExecution } from "./execution.ts";
import type { InstancePorts, Outcome } from "./instances.ts";
import { loadProgram } from "./load-program.ts";
import { outcomeOfJob, outcomeOfRun } from "./outcome-of-job.ts";
import { outcomeOfRepeat } from "./outcome-of-repeat.ts";
import { overridesOf } from "./overrides.ts";
import { payloadOf, type PayloadRequest } from "./payload-of.ts";
import { scriptContext } from "./script-context.ts";

export interface TransitionRequest extends PayloadRequest {
  domain: string;
  workflow: string;
  /** Id or business key. */
  instance: string;
  transitionKey: string;
  sync: boolean;
  idempotencyKey: string | undefined;
  author: Author;
  roles: readonly string[];
  /** Masked. */
  headers: Readonly<Record<string, string>>;
  traceId: string | undefined;
  /** On the process's own clock (`performance.now`). */
  receivedAt: number;
  /** Aborted when the caller has gone: no need to wait for an outcome to repeat then. */
  signal: () => AbortSignal;
  /** How many tasks that start or move instances led here. */
  triggerDepth?: number | undefined;
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
  const { domain, workflow: flow, idempotencyKey } = request;
  const instance = await ports.store.find({ domain, flow, reference: request.instance });
  if (instance === undefined) {
    await loadProgram(ports.catalogue, { domain, workflow: flow, version: undefined });
    throw problems.instanceNotFoundToChange({ domain, workflow: flow, instance: request.instance });
  }
  const program = await loadProgram(ports.catalogue, {
    domain,
    workflow: flow,
    version: instance.flowVersion,
  });
  const sync = isSync(program, instance, request);
  if (idempotencyKey !== undefined) {
    const repeated = await repeatOf(ports, program, request, sync, instance, idempotencyKey);
    if (repeated !== undefined) {
      await checkRepeater(ports, program, instance, request);
      return repeated;
    }
  }
  const child = instance.openChild;
  if (child !== undefined && isForwarded(program.workflow, instance, request.transitionKey)) {
    return forward(ports, instance, child, { ...request, sync });
  }
  const admitted = admit(program.workflow, instance, request.transitionKey, "user");
  if (admitted instanceof Problem) throw await refusal(ports, instance, request, admitted);
  const { transition, kind } = admitted;
  await checkRoles(ports, await asOverridden(ports, transition, instance), instance, request);
  const queued: QueuedRequest = {
    kind,
    transitionKey: transition.key,
    trigger: admitted.trigger,
    payload: payloadOf(program, request),
    author: request.author,
    headers: request.headers,
    roles: request.roles,
    idempotencyKey,
    triggerDepth: request.triggerDepth,
  };
  await checkPayload(ports, transition, request.payload.attributes, (script) => ({
    script,
    helpers: program.workflow.helpers,
    context: scriptContext(beginRun(queued, { program, instance, transition }, ports.tools)),
  }));
  const underWay = ports.inFlight.current(instance.id);
  if (underWay !== undefined) {
    const same =
      idempotencyKey !== undefined &&
      underWay.idempotencyKey === idempotencyKey &&
      underWay.transitionKey === transition.key;
    if (underWay.blocks && !same && !isSpecial(kind)) throw lost(ports, instance, request);
    await underWay.ended;
    return "again";
  }
  const flight = { transitionKey: transition.key, idempotencyKey, blocks: kind !== "updateData" };
  const changed = await ports.inFlight.enter(instance.id, flight, () =>
    sync
      ? changeNow(ports, program, instance, admitted, queued, request)
      : acceptChange(ports, program, instance, admitted, queued, request),
  );
  if (changed === "again") return changed;
  // Outside of the flight: the database says that the instance is Busy, and a cancel may come.
  if ("job" in changed) return outcomeOfJob(ports, changed);
  return "followUps" in changed ? outcomeOfRun(ports, changed) : changed;
}

/** The definition's word counts, where it has one: the transition's, else the workflow's. */
function isSync(
  { workflow }: Program,
  { current }: Instance,
  { transitionKey: key, sync }: TransitionRequest,
): boolean {
  const found =
    resolveSpecial(workflow, key)?.transition ?? findAnywhere(workflow, key, current.key);
  const type = found?.executionType ?? workflow.executionType;
  return type === undefined ? sync : type === "sync";
}

/** The subflow does what was asked, its parent answers for it: as it stands when all has come to rest. */
async function forward(
  ports: InstancePorts,
  parent: Instance,
  child: OpenChild,
  request: TransitionRequest,
): Promise<Outcome> {
  const { domain, flow: workflow, id } = child;
  const { accepted } = await changeInstance(ports, { ...request, domain, workflow, instance: id });
  const address = { domain: parent.domain, flow: parent.flow, reference: parent.id };
  const instance = (await ports.store.find(address)) ?? parent;
  return { instance: accepted ? { ...instance, status: "B" } : instance, accepted };
}

/** A parent may replace who may send a transition to its subflow. */
export async function asOverridden(
  { catalogue }: Pick<InstancePorts, "catalogue">,
  transition: Transition,
  instance: Instance,
): Promise<Transition> {
  if (instance.origin === undefined) return transition;
  const roles = (await overridesOf(catalogue, instance))?.transitions.get(transition.key)?.roles;
  return roles === undefined ? transition : { ...transition, roles };
}

/** The state the caller knew was left while the request was on its way: a conflict, not a mistake. */
async function refusal(
  ports: InstancePorts,
  instance: Instance,
  request: TransitionRequest,
  admitted: Problem,
): Promise<Problem> {
  const { transitionKey: transition, receivedAt } = request;
  const { contention } = ports;
  const race = raceFor(instance, request);
  if (!dependsOnState.has(admitted.code)) {
    contention.lost(race);
    return admitted;
  }
  const isConflict = changedSince(ports, instance, receivedAt) || contention.isRaced(race);
  if (isConflict) contention.lost(race);
  const isRecent = changedSince(ports, instance, receivedAt - recentMs);
  if (!isConflict && !(isRecent && (await contention.hasCompany(race)))) return admitted;
  return problems.overtaken({ transition, instance: instance.id }, { target: instance.id });
}

const recentMs = 1000;

const raceFor = ({ id }: Instance, { transitionKey }: TransitionRequest) =>
  `${id}/${transitionKey.toLowerCase()}`;

function lost(ports: InstancePorts, instance: Instance, request: TransitionRequest): Problem {
  ports.contention.lost(raceFor(instance, request));
  return problems.instanceBusy({ instance: instance.id }, { target: instance.id });
}

const dependsOnState: ReadonlySet<string> = new Set(
  [
    problems.instanceTerminal,
    problems.transitionNotAvailable,
    problems.sharedNotAvailable,
    problems.specialNotAvailable,
  ].map((problem) => problem.row.code),
);

/** Exact for what this process did; for other nodes by the clocks, to the millisecond. */
function changedSince({ inFlight }: InstancePorts, instance: Instance, receivedAt: number) {
  const lastEnd = inFlight.lastEnd(instance.id) ?? -Infinity;
  if (lastEnd > receivedAt) return true;
  const modifiedAt = instance.modifiedAt?.getTime() ?? -Infinity;
  const wasOurs = modifiedAt <= onTheWall(lastEnd);
  return !wasOurs && modifiedAt >= Math.floor(onTheWall(receivedAt));
}

const onTheWall = (moment: number) => Date.now() - (performance.now() - moment);

async function changeNow(
  ports: InstancePorts,
  program: Program,
  instance: Instance,
  { transition, kind }: Admitted,
  queued: QueuedRequest,
  request: TransitionRequest,
): Promise<Extract<Executed, { kind: "done" }> | Outcome | JobExecution | "again"> {
  const run = beginRun(queued, { program, instance, transition }, ports.tools);
  const executed = await executeRun(ports, {
    run,
    stored: instance,
    job: undefined,
    request: queued,
    traceId: request.traceId,
  });
  switch (executed.kind) {
    case "done":
      return executed;
    case "becameJob":
      return executed.execution;
    case "postponed":
      return { instance, accepted: true };
    case "refused":
      throw new PayloadRejected(transition.key, executed.errors);
    default:
      // Another node was faster. What may run beside others tries again, as does a repeat, which
      // will find the outcome of the first; anything else has lost the race.
      if (isSpecial(kind) || queued.idempotencyKey !== undefined) return "again";
      throw lost(ports, instance, request);
  }
}

/** Status and job are one write: a 202 means that the work cannot be lost. */
async function acceptChange(
  ports: InstancePorts,
  program: Program,
  instance: Instance,
  { kind, transition }: Admitted,
  queued: QueuedRequest,
  request: TransitionRequest,
): Promise<Outcome | "again"> {
  checkMerge(program, instance, transition, queued.payload.attributes);
  // updateData runs beside whatever else runs: it leaves the status as it is.
  const status = kind === "updateData" ? instance.status : "B";
  const accepted: Instance = { ...instance, status };
  const job = ports.jobs.prepare({
    type: JobType.transition,
    instance: accepted,
    sourceState: instance.current.key,
    transitionKey: queued.transitionKey,
    payload: stringifyJson({ request: queued, traceId: request.traceId }),
  });
  ports.faultPoint("before-accept-write");
  const written = await job.during(
    ports.store.write(runWrite({ instance: accepted, addJobs: [job.row] })),
  );
  ports.faultPoint("after-accept-write");
  if (!written) {
    job.withdraw();
    if (isSpecial(kind) || queued.idempotencyKey !== undefined) return "again";
    throw lost(ports, instance, request);
  }
  const stored: Instance = { ...accepted, rev: instance.rev + 1 };
  job.begin(stored);
  return { instance: stored, accepted: true };
}

/**
 * The outcome of the first request with this idempotency key. A caller who only wants to know that it
 * was accepted is not kept waiting: to that the answer is the same at any time.
 */
async function repeatOf(
  { store }: InstancePorts,
  { workflow }: Program,
  { transitionKey: given, signal }: TransitionRequest,
  sync: boolean,
  instance: Instance,
  idempotencyKey: string,
): Promise<Outcome | undefined> {
  const special = resolveSpecial(workflow, given);
  const transitionKey = special?.transition.key ?? given;
  const of = { instanceId: instance.id, transitionKey, idempotencyKey };
  if (sync) return outcomeOfRepeat(store, instance, of, signal());
  if ((await store.findRepeat(of)) === undefined) return undefined;
  const status = special?.kind === "updateData" ? instance.status : "B";
  return { instance: { ...instance, status }, accepted: true };
}

/**
 * An outcome is for those who may send the transition. Roles that look at the instance are not asked:
 * it has moved, and whoever sent the first request may not have them any more.
 */
async function checkRepeater(
  ports: InstancePorts,
  { workflow }: Program,
  instance: Instance,
  request: TransitionRequest,
): Promise<void> {
  const { transitionKey: key } = request;
  const found =
    resolveSpecial(workflow, key)?.transition ?? findAnywhere(workflow, key, instance.current.key);
  if (found === undefined) return;
  const transition = await asOverridden(ports, found, instance);
  const looksAtInstance = transition.roles.some(({ roles }) =>
    roles.some((role) => role.startsWith("$")),
  );
  if (looksAtInstance) return;
  await checkRoles(ports, { ...transition, availableIn: "all" }, instance, request);
}
