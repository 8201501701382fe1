/** Starts an instance: now and to its first rest (`sync`), or accepted and queued. */
import { stringifyJson } from "../engine/exact-json.ts";
import type { Author, Instance, Origin } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import { problems } from "../engine/problems.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import type { QueuedRequest } from "../engine/transition/checkpoint.ts";
import type { Program } from "../engine/transition/run.ts";
import { runWrite } from "../storage/instance-store.ts";
import { correlationsOf } from "./write-run.ts";
import { executeRun } from "./execute-run.ts";
import type { InstancePorts, Outcome } from "./instances.ts";
import { outcomeOfJob, outcomeOfRun } from "./outcome-of-job.ts";
import { outcomeOfRepeat } from "./outcome-of-repeat.ts";
import { newInstance } from "./new-instance.ts";
import { loadProgram } from "./load-program.ts";
import { payloadOf, type PayloadRequest } from "./payload-of.ts";
import { checkMerge, checkPayload } from "./check-payload.ts";
import { checkRoles } from "./check-roles.ts";
import { scriptContext } from "./script-context.ts";

export interface StartRequest extends PayloadRequest {
  /** Chosen by a caller that may have to ask again: a repeat is answered with what the first started. */
  id?: string | undefined;
  domain: string;
  workflow: string;
  version: string | undefined;
  sync: boolean;
  key: string | undefined;
  author: Author;
  roles: readonly string[];
  /** The instance whose task starts it. */
  origin?: Origin | undefined;
  /** An id or a key in use is a conflict, whatever the settings say. */
  isStrict?: boolean | undefined;
  /** Masked. */
  headers: Readonly<Record<string, string>>;
  traceId: string | undefined;
  /** How many tasks that start or move instances led here. */
  triggerDepth?: number | undefined;
  /** Aborted when the caller has gone: no need to wait for an outcome to repeat then. */
  signal?: (() => AbortSignal) | undefined;
}

export async function startInstance(ports: InstancePorts, asked: StartRequest): Promise<Outcome> {
  const { domain, workflow: flow, version } = asked;
  const program = await loadProgram(ports.catalogue, { domain, workflow: flow, version });
  const { startTransition, executionType } = program.workflow;
  const type = startTransition.executionType ?? executionType;
  // The definition's word counts, where it has one.
  const sync = type === undefined ? asked.sync : type === "sync";
  const request = sync === asked.sync ? asked : { ...asked, sync };
  const repeated = await repeatedStart(ports, request);
  if (repeated !== undefined) return once(request, repeated);
  for (let attempt = 1; ; attempt += 1) {
    const started = await start(ports, program, request);
    if (started !== "keyInUse") return started;
    // The id may be what is in use: by a request like this one, at the same moment.
    const simultaneous = await repeatedStart(ports, request);
    if (simultaneous !== undefined) return once(request, simultaneous);
    const refuses = ports.startOnExistingKey === "conflict" || request.isStrict === true;
    if (refuses || attempt === mostAttempts) throw inUse(request);
    const holder = await holderOfKey(ports, request);
    if (holder !== undefined) return { instance: holder, accepted: !request.sync };
    // It has completed in between, so the key is free.
  }
}

const mostAttempts = 5;

const inUse = ({ workflow, key: given, id }: StartRequest) => {
  const key = given ?? id ?? "";
  return problems.keyInUse({ workflow, key }, { target: key });
};

function once(request: StartRequest, repeated: Outcome): Outcome {
  if (request.isStrict === true) throw inUse(request);
  return repeated;
}

/** What an earlier request with the same id has started. Without an id no two requests are the same. */
async function repeatedStart(
  ports: InstancePorts,
  { id, domain, workflow: flow, sync, signal }: StartRequest,
): Promise<Outcome | undefined> {
  if (id === undefined) return undefined;
  const instance = await ports.store.find({ domain, flow, reference: id });
  if (instance?.id !== id) return undefined;
  if (!sync) return { instance: { ...instance, status: "B" }, accepted: true };
  const wanted = { domain, workflow: flow, version: instance.flowVersion };
  const { startTransition } = (await loadProgram(ports.catalogue, wanted)).workflow;
  const of = { instanceId: id, transitionKey: startTransition.key, idempotencyKey: id };
  const outcome = await outcomeOfRepeat(ports.store, instance, of, signal?.());
  return outcome ?? { instance, accepted: false };
}

/** The instance of the flow that has not completed and has the key. */
async function holderOfKey(
  { store }: InstancePorts,
  { domain, workflow: flow, key }: StartRequest,
): Promise<Instance | undefined> {
  if (key === undefined) return undefined;
  const found = await store.find({ domain, flow, reference: key });
  const holds = found?.key === key && found.status !== "C" && found.status !== "P";
  return holds ? found : undefined;
}

async function start(
  ports: InstancePorts,
  program: Program,
  request: StartRequest,
): Promise<Outcome | "keyInUse"> {
  const { startTransition: transition } = program.workflow;
  const instance = newInstance(program, request, ports.tools);
  const queued = queuedRequest(program, request);
  await checkRoles(ports, transition, instance, request);
  try {
    await checkPayload(ports, transition, request.payload.attributes, (script) => ({
      script,
      helpers: program.workflow.helpers,
      context: scriptContext(beginRun(queued, { program, instance, transition }, ports.tools)),
    }));
    return await (request.sync
      ? startNow(ports, program, instance, queued, request)
      : acceptStart(ports, program, instance, queued, request));
  } catch (error) {
    // A key that is in use is told before anything about the payload.
    const isRejected = error instanceof PayloadRejected;
    if (isRejected && (await holderOfKey(ports, request)) !== undefined) return "keyInUse";
    throw error;
  }
}

const queuedRequest = (program: Program, request: StartRequest): QueuedRequest => ({
  kind: "start",
  transitionKey: program.workflow.startTransition.key,
  trigger: "manual",
  payload: payloadOf(program, request),
  author: request.author,
  headers: request.headers,
  roles: request.roles,
  idempotencyKey: request.id,
  triggerDepth: request.triggerDepth,
});

async function startNow(
  ports: InstancePorts,
  program: Program,
  instance: Instance,
  queued: QueuedRequest,
  { traceId }: StartRequest,
): Promise<Outcome | "keyInUse"> {
  const { startTransition: transition } = program.workflow;
  const run = beginRun(queued, { program, instance, transition }, ports.tools);
  const executed = await ports.inFlight.enter(
    instance.id,
    { transitionKey: transition.key, idempotencyKey: undefined, blocks: true },
    () =>
      executeRun(ports, {
        run,
        stored: undefined,
        job: undefined,
        request: queued,
        traceId,
      }),
  );
  switch (executed.kind) {
    case "done":
      return outcomeOfRun(ports, executed);
    case "postponed":
      return { instance, accepted: true };
    case "becameJob":
      return outcomeOfJob(ports, executed.execution);
    case "refused":
      throw new PayloadRejected(transition.key, executed.errors);
    case "keyInUse":
      return "keyInUse";
    case "overtaken":
      throw problems.instanceBusy({ instance: instance.id }, { target: instance.id });
  }
}

/** The row and the job are one write: a 202 means that the work cannot be lost. */
async function acceptStart(
  ports: InstancePorts,
  program: Program,
  instance: Instance,
  queued: QueuedRequest,
  { traceId }: StartRequest,
): Promise<Outcome | "keyInUse"> {
  const { startTransition: transition } = program.workflow;
  checkMerge(program, instance, transition, queued.payload.attributes);
  const busy: Instance = { ...instance, status: "B" };
  const job = ports.jobs.prepare({
    type: JobType.transition,
    instance: busy,
    sourceState: instance.current.key,
    transitionKey: queued.transitionKey,
    payload: stringifyJson({ request: queued, traceId }),
  });
  ports.faultPoint("before-accept-write");
  const result = await job.during(
    ports.store.start(
      runWrite({
        instance: busy,
        addJobs: [job.row],
        addCorrelations: correlationsOf(busy),
      }),
    ),
  );
  ports.faultPoint("after-accept-write");
  if (result === "keyInUse") {
    job.withdraw();
    return "keyInUse";
  }
  const stored: Instance = { ...busy, rev: 1 };
  job.begin(stored);
  return { instance: stored, accepted: true };
}
