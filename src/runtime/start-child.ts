/** Starts the child that a state has asked for: exactly once, by an id chosen when it was asked for. */
import { parseJson } from "../engine/exact-json.ts";
import type { Author, Instance, Origin } from "../engine/instance.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import { Problem } from "../engine/problem.ts";
import type { TaskFailure } from "../engine/task-failure.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import type { QueuedRequest } from "../engine/transition/checkpoint.ts";
import type { ChildPlan } from "../engine/transition/run.ts";
import { runWrite } from "../storage/instance-store.ts";
import type { Job } from "../storage/job-store.ts";
import { checkPayload } from "./check-payload.ts";
import { executeRun } from "./execute-run.ts";
import type { ExecutePorts, JobExecution } from "./execution.ts";
import { loadProgram } from "./load-program.ts";
import { newInstance } from "./new-instance.ts";
import { withTimeoutOf } from "./overrides.ts";
import { scriptContext } from "./script-context.ts";
import { unfaultAncestors } from "./unfault-ancestors.ts";
import { writeFault } from "./write-fault.ts";

export interface ChildStart {
  plan: ChildPlan;
  parent: { id: string; domain: string; flow: string };
  author: Author;
  roles: readonly string[];
  traceId?: string | undefined;
  triggerDepth?: number | undefined;
  /** By a retry of the parent: those who wait for the parent may not know of it yet. */
  isRetried?: boolean | undefined;
}

export type ChildStarted =
  | {
      kind: "done";
      instance: Instance | undefined;
      followUps?: readonly Job[];
      /** The job went with the child's first write. */
      isRemoved?: boolean;
    }
  | { kind: "becameJob"; execution: JobExecution }
  | { kind: "overtaken" };

export async function startChild(
  ports: ExecutePorts,
  job: Job,
  signal: AbortSignal,
): Promise<ChildStarted> {
  const start = parseJson(job.payload ?? "{}") as unknown as ChildStart;
  const { plan } = start;
  const parent = await waitingParent(ports, start);
  if (parent === undefined) return { kind: "done", instance: undefined };
  if (start.isRetried === true) await unfaultAncestors(ports, parent);
  const there = await ports.store.find({ ...plan, reference: plan.id });
  if (there?.id === plan.id) return { kind: "done", instance: there };
  try {
    return await startNow(ports, job, start, parent, signal);
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    const waiting = await waitingParent(ports, start);
    if (waiting === undefined) return { kind: "done", instance: undefined };
    return notStarted(ports, job, waiting, start, reason);
  }
}

/** Undefined when the parent has moved on, or was told that the child cannot be started. */
async function waitingParent(
  { store, incidents }: ExecutePorts,
  { plan, parent: { id, domain, flow } }: ChildStart,
): Promise<Instance | undefined> {
  const parent = await store.find({ domain, flow, reference: id });
  if (plan.type === "P") return parent;
  if (parent?.openChild?.id !== plan.id) return undefined;
  // Whoever faulted for another reason still waits.
  const wasTold = parent.status === "F" && isStartOf(await incidents.resumeOf(id), plan);
  return wasTold ? undefined : parent;
}

function isStartOf(resume: string | undefined, { id }: ChildPlan): boolean {
  const { childStart } = parseJson(resume ?? "{}") as { childStart?: { plan: { id: string } } };
  return childStart?.plan.id === id;
}

async function startNow(
  ports: ExecutePorts,
  job: Job,
  { plan, author, roles, traceId, triggerDepth }: ChildStart,
  parent: Instance,
  signal: AbortSignal,
): Promise<ChildStarted> {
  const { domain, flow: workflow, version } = plan;
  const origin = originOf(plan, parent);
  const own = await loadProgram(ports.catalogue, { domain, workflow, version });
  const program = await withTimeoutOf(ports.catalogue, own, { origin });
  const { startTransition: transition } = program.workflow;
  const { id, key } = plan;
  const instance = newInstance(program, { id, domain, key, author, origin }, ports.tools);
  const request: QueuedRequest = {
    kind: "start",
    transitionKey: transition.key,
    trigger: "manual",
    payload: { attributes: plan.attributes, tags: plan.tags ?? [], stage: undefined },
    author,
    headers: plan.headers ?? {},
    roles,
    idempotencyKey: undefined,
    triggerDepth,
  };
  const run = beginRun(request, { program, instance, transition }, ports.tools);
  await checkPayload(ports, transition, plan.attributes, (script) => ({
    script,
    helpers: program.workflow.helpers,
    context: scriptContext(run, traceId),
  }));
  const executed = await executeRun(ports, {
    run,
    stored: undefined,
    job: undefined,
    causeId: job.id,
    request,
    traceId,
    signal,
  });
  switch (executed.kind) {
    case "done":
      return { ...executed, isRemoved: true };
    case "becameJob":
    case "overtaken":
      return executed;
    case "refused":
      throw new PayloadRejected(transition.key, executed.errors);
    case "keyInUse": {
      const other = await ports.store.find({ domain, flow: workflow, reference: id });
      if (other?.id === id) return { kind: "done", instance: other };
      throw new KeyTaken(`An instance of '${workflow}' with the key '${key}' has not ended yet.`);
    }
    case "postponed":
      return { kind: "done", instance, isRemoved: true };
  }
}

class KeyTaken extends Error {
  override readonly name = "KeyTaken";
}

const originOf = (
  { correlationId, parentState: state, type }: ChildPlan,
  { id, domain, flow, flowVersion: version, origin }: Instance,
): Origin => ({
  correlationId,
  type,
  parent: { id, domain, flow, version, state },
  ancestors: type === "S" ? [id, ...(origin?.type === "S" ? origin.ancestors : [])] : [],
});

function reasonOf(error: unknown): string | undefined {
  if (error instanceof PayloadRejected) {
    return `its start payload does not fit the schema: ${error.errors.map((e) => `${e.path} ${e.message}`).join("; ")}`;
  }
  return error instanceof Problem || error instanceof KeyTaken ? error.message : undefined;
}

/** Who waits for the child has failed; whoever does not wait goes on, and its correlation says so. */
async function notStarted(
  ports: ExecutePorts,
  job: Job,
  parent: Instance,
  { plan, author, roles, traceId }: ChildStart,
  reason: string,
): Promise<ChildStarted> {
  const failure: TaskFailure = {
    code: "Instance:100023",
    layer: "Pipeline",
    message: `The subflow '${plan.flow}' could not be started: ${reason}`,
    retryable: false,
  };
  if (plan.type === "P") {
    ports.onTrouble("SubprocessNotStarted", new Error(failure.message));
    const endedChildren = [{ id: plan.id, outcome: "faulted" as const }];
    const isWritten = await ports.store.write(runWrite({ instance: parent, endedChildren }));
    return isWritten ? { kind: "done", instance: undefined } : { kind: "overtaken" };
  }
  return writeFault(ports, parent, {
    failure,
    transition: plan.flow,
    author,
    headers: {},
    roles,
    traceId,
    resume: `{"childStart":${job.payload}}`,
  });
}
