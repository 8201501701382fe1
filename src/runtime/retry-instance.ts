/**
 * Goes on with a faulted instance from where its run stood: what the journal has is not repeated.
 * What failed because its subflow did is retried in the subflow, which then resumes its parent.
 */
import {
  isJsonObject,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import { problems } from "../engine/problems.ts";
import { errorsInMerge } from "../engine/transition/merge-into-run.ts";
import { findAnywhere, findTransition, type QueuedRun } from "../engine/transition/checkpoint.ts";
import { mergeData } from "../engine/merge-data.ts";
import type { ChildPlan, HopKind } from "../engine/transition/run.ts";
import { runWrite, type JobToAdd } from "../storage/instance-store.ts";
import type { Job } from "../storage/job-store.ts";
import { asOverridden, type TransitionRequest } from "./change-instance.ts";
import { checkRoles } from "./check-roles.ts";
import type { InstancePorts } from "./instances.ts";
import { loadProgram, loadWorkflow } from "./load-program.ts";
import { unfaultAncestors, unfaulted } from "./unfault-ancestors.ts";

export type RetryRequest = Omit<TransitionRequest, "transitionKey" | "idempotencyKey">;

export interface Retried {
  /** As the retry left it; Busy when it is only accepted. */
  instance: Instance;
  /** The record that goes on; the nil UUID where there is none. */
  retriedTransitionId: string;
}

const nil = "00000000-0000-0000-0000-000000000000";

export async function retryInstance(ports: InstancePorts, request: RetryRequest): Promise<Retried> {
  for (;;) {
    const retried = await attempt(ports, request);
    if (retried !== "again") return retried;
  }
}

/** `again`: the instance was changed between read and write. */
async function attempt(ports: InstancePorts, request: RetryRequest): Promise<Retried | "again"> {
  const { domain, workflow: flow } = request;
  const instance = await ports.store.find({ domain, flow, reference: request.instance });
  if (instance === undefined) {
    await loadProgram(ports.catalogue, { domain, workflow: flow, version: undefined });
    throw problems.instanceNotFoundToChange({ domain, workflow: flow, instance: request.instance });
  }
  const child = await childOf(ports, instance);
  if (child?.status === "F") {
    const { domain: childDomain, flow: workflow, id } = child;
    return retryInstance(ports, { ...request, domain: childDomain, workflow, instance: id });
  }
  const { id, status } = instance;
  if (status !== "F") throw problems.notFaulted({ instance: id, status });
  const resume = await ports.incidents.resumeOf(id);
  if (resume === undefined) {
    // Perhaps because another retry has just begun.
    const now = await ports.store.find({ domain, flow, reference: id });
    if (now?.rev !== instance.rev) return "again";
    throw problems.nothingToRetry({ instance: id });
  }
  const queued = parseJson(resume) as unknown as QueuedRun & { childStart?: JsonObject };
  if (queued.childStart !== undefined)
    return startAgain(ports, instance, queued.childStart, request);
  return goOn(ports, instance, queued, request);
}

const childOf = async ({ store }: InstancePorts, { openChild }: Instance) =>
  openChild === undefined ? undefined : store.find({ ...openChild, reference: openChild.id });

async function goOn(
  ports: InstancePorts,
  instance: Instance,
  queued: QueuedRun,
  request: RetryRequest,
): Promise<Retried | "again"> {
  const { payload } = request;
  const attributes = dataOf(request);
  await checkData(ports, instance, queued, request);
  const { checkpoint } = queued;
  const from = textIn(checkpoint, "from") ?? instance.current.key;
  const isResumption = (textIn(checkpoint, "kind") ?? queued.request.kind) === "resume";
  const transitionKey = textIn(checkpoint, "transitionKey") ?? queued.request.transitionKey;
  const job: Omit<Job, "id" | "attempts"> = {
    type: JobType.transition,
    instanceId: instance.id,
    domain: instance.domain,
    flow: instance.flow,
    sourceState: from,
    // What goes on without a transition has none that a job could be named after.
    transitionKey: isResumption ? undefined : transitionKey,
    payload: stringifyJson({
      ...queued,
      traceId: request.traceId,
      retry: (queued.retry ?? 0) + 1,
      retryData: attributes,
      isRetried: true,
    }),
  };
  const retriedTransitionId = isResumption ? nil : (textIn(checkpoint, "recordId") ?? nil);
  const stage = payload.stage?.trim() ? payload.stage : instance.stage;
  const tags = [...new Set([...instance.tags, ...payload.tags])];
  const busy = unfaulted({ ...instance, stage, tags }, ports);
  return queue(ports, instance, busy, job, request, retriedTransitionId);
}

/**
 * The child could not be started: it is started anew, with what it was meant to start with and what
 * the caller adds.
 */
async function startAgain(
  ports: InstancePorts,
  instance: Instance,
  childStart: JsonObject,
  request: RetryRequest,
): Promise<Retried | "again"> {
  const plan = await planWith(ports, instance, childStart["plan"] as JsonObject, request);
  const job: Omit<Job, "id" | "attempts"> = {
    type: JobType.subflowStart,
    instanceId: plan["id"] as string,
    domain: plan["domain"] as string,
    flow: plan["flow"] as string,
    sourceState: undefined,
    transitionKey: undefined,
    payload: stringifyJson({ ...childStart, plan, isRetried: true }),
  };
  return queue(ports, instance, unfaulted(instance, ports), job, request, nil);
}

async function planWith(
  ports: InstancePorts,
  instance: Instance,
  plan: JsonObject,
  request: RetryRequest,
): Promise<JsonObject> {
  const added = dataOf(request);
  if (added === undefined) return plan;
  const { domain, flow: workflow, version } = plan as unknown as ChildPlan;
  const { startTransition } = await loadWorkflow(ports.catalogue, { domain, workflow, version });
  await checkRoles(ports, startTransition, instance, request);
  const { attributes } = plan;
  return { ...plan, attributes: attributes === undefined ? added : mergeData(attributes, added) };
}

/** Status, incidents and job are one write: of two retries exactly one gets through. */
async function queue(
  ports: InstancePorts,
  instance: Instance,
  busy: Instance,
  given: Omit<Job, "id" | "attempts">,
  { sync }: RetryRequest,
  retriedTransitionId: string,
): Promise<Retried | "again"> {
  const job: Job = { ...given, id: ports.tools.uuid(), attempts: 1 };
  const row: JobToAdd = { ...job, owner: ports.nodeId };
  ports.held.hold(job.id);
  ports.faultPoint("before-retry-write");
  const isWritten = await ports.store
    .write(
      runWrite({
        instance: busy,
        resolvesIncidents: "retried",
        ownOutcome: instance.origin === undefined ? undefined : "none",
        addJobs: [row],
      }),
    )
    .catch((error: unknown) => {
      ports.held.letGo(job.id);
      throw error;
    });
  if (!isWritten) {
    ports.held.letGo(job.id);
    return "again";
  }
  ports.faultPoint("after-retry-write");
  // The job would do it too, for whoever takes it over; the caller shall see it now.
  await unfaultAncestors(ports, instance).catch((error: unknown) => {
    ports.held.letGo(job.id);
    throw error;
  });
  const following = ports.jobs.follow([job]);
  if (!sync) {
    // Done in any case; nobody waits for it.
    following.catch(() => {});
    return { instance: { ...busy, rev: busy.rev + 1 }, retriedTransitionId };
  }
  await following;
  const { domain, flow, id: reference } = instance;
  return {
    instance: (await ports.store.find({ domain, flow, reference })) ?? busy,
    retriedTransitionId,
  };
}

/** Who adds data needs what the transition itself needs; a bare retry repeats what was allowed. */
async function checkData(
  ports: InstancePorts,
  instance: Instance,
  { request: queued, checkpoint }: QueuedRun,
  request: RetryRequest,
): Promise<void> {
  const attributes = dataOf(request);
  if (attributes === undefined) return;
  const { domain, flow: workflow, flowVersion: version } = instance;
  const program = await loadProgram(ports.catalogue, { domain, workflow, version });
  const place = {
    kind: (textIn(checkpoint, "kind") ?? queued.kind) as HopKind,
    transitionKey: textIn(checkpoint, "transitionKey") ?? queued.transitionKey,
    from: textIn(checkpoint, "from") ?? instance.current.key,
  };
  const transition = findTransition(program.workflow, place);
  // A hop of the system has no roles: then those of the transition that led to it count.
  const { from } = place;
  const asked =
    queued.kind === "state"
      ? (findAnywhere(program.workflow, queued.transitionKey, from) ?? transition)
      : findTransition(program.workflow, { ...queued, from });
  for (const gated of new Set([transition, asked])) {
    await checkRoles(ports, await asOverridden(ports, gated, instance), instance, request);
  }
  const errors = errorsInMerge(program, instance, attributes);
  if (errors.length > 0) throw new PayloadRejected(transition.key, errors);
}

/** An empty envelope brings nothing. */
function dataOf({ payload: { attributes } }: RetryRequest): JsonValue | undefined {
  const isEmpty = isJsonObject(attributes) && Object.keys(attributes).length === 0;
  return isEmpty ? undefined : attributes;
}

function textIn(value: JsonObject | undefined, name: string): string | undefined {
  const member = isJsonObject(value) ? value[name] : undefined;
  return typeof member === "string" ? member : undefined;
}
