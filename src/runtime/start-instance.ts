/** Starts an instance: now and to its first rest (`sync`), or accepted and queued. */
import { stringifyJson } from "../engine/exact-json.ts";
import type { Author, Instance } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import { problems } from "../engine/problems.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import type { QueuedRequest } from "../engine/transition/checkpoint.ts";
import {
  nothingPending,
  type Payload,
  type Program,
  type Tools,
} from "../engine/transition/run.ts";
import { executeRun } from "./execute-run.ts";
import type { InstancePorts, Outcome } from "./instances.ts";
import { loadProgram } from "./load-program.ts";
import { checkPayload } from "./check-payload.ts";

export interface StartRequest {
  domain: string;
  workflow: string;
  version: string | undefined;
  sync: boolean;
  key: string | undefined;
  payload: Payload;
  author: Author;
  /** Masked. */
  headers: Readonly<Record<string, string>>;
  traceId: string | undefined;
}

export async function startInstance(ports: InstancePorts, request: StartRequest): Promise<Outcome> {
  const { domain, workflow: flow, version, payload } = request;
  const program = await loadProgram(ports.catalogue, { domain, workflow: flow, version });
  const { startTransition } = program.workflow;
  await checkPayload(ports, startTransition, payload.attributes);
  const instance = newInstance(program, request, ports.tools);
  return request.sync
    ? startNow(ports, program, instance, request)
    : acceptStart(ports, program, instance, request);
}

const queuedRequest = (program: Program, request: StartRequest): QueuedRequest => ({
  kind: "start",
  transitionKey: program.workflow.startTransition.key,
  trigger: "manual",
  payload: request.payload,
  author: request.author,
  headers: request.headers,
  idempotencyKey: undefined,
});

async function startNow(
  ports: InstancePorts,
  program: Program,
  instance: Instance,
  request: StartRequest,
): Promise<Outcome> {
  const { startTransition: transition } = program.workflow;
  const queued = queuedRequest(program, request);
  const run = beginRun({ ...queued, program, instance, transition }, ports.tools);
  const { traceId } = request;
  const executed = await ports.inFlight.enter(
    instance.id,
    { transitionKey: transition.key, idempotencyKey: undefined },
    () =>
      executeRun(ports, {
        run,
        stored: undefined,
        jobId: undefined,
        request: queued,
        traceId,
        signal: undefined,
      }),
  );
  switch (executed.kind) {
    case "done":
      return { instance: executed.instance, accepted: false };
    case "refused":
      throw new PayloadRejected(transition.key, executed.errors);
    case "keyInUse":
      throw keyInUse(request);
    case "overtaken":
      throw problems.instanceBusy({ instance: instance.id }, { target: instance.id });
  }
}

/** The row and the job are one write: a 202 means that the work cannot be lost. */
async function acceptStart(
  ports: InstancePorts,
  program: Program,
  instance: Instance,
  request: StartRequest,
): Promise<Outcome> {
  const busy: Instance = { ...instance, status: "B" };
  const queued = queuedRequest(program, request);
  const job = ports.jobs.prepare({
    type: JobType.transition,
    instance: busy,
    sourceState: instance.current.key,
    transitionKey: queued.transitionKey,
    payload: stringifyJson({ request: queued }),
  });
  ports.faultPoint("before-accept-write");
  const result = await ports.store.start({
    ...nothingPending,
    instance: busy,
    incident: undefined,
    dataChanged: false,
    addJobs: [job.row],
  });
  ports.faultPoint("after-accept-write");
  if (result === "keyInUse") {
    job.withdraw();
    throw keyInUse(request);
  }
  const stored: Instance = { ...busy, rev: 1 };
  job.begin(stored);
  return { instance: stored, accepted: true };
}

const keyInUse = ({ workflow, key }: StartRequest) =>
  problems.keyInUse({ workflow, key: key ?? "" }, { target: key });

function newInstance(
  { workflow }: Program,
  { domain, key, author }: StartRequest,
  tools: Tools,
): Instance {
  const initial = workflow.states.get(workflow.initialState);
  if (initial === undefined) {
    throw problems.startFailedNoInitialState({
      workflow: workflow.key,
      state: workflow.initialState,
    });
  }
  const state = { key: initial.key, type: initial.type, subType: initial.subType };
  const now = tools.now();
  return {
    id: tools.uuid(),
    domain,
    flow: workflow.key,
    key,
    flowVersion: workflow.version,
    status: "A",
    rev: 0,
    lastSeq: 0,
    current: state,
    effective: state,
    stage: undefined,
    tags: [],
    data: undefined,
    dataVersion: undefined,
    entityEtag: tools.ulid(),
    createdAt: now,
    createdBy: author,
    modifiedAt: undefined,
    modifiedBy: { actor: undefined, behalfOf: undefined },
    completedAt: undefined,
    hasActiveIncident: false,
    incidentCount: 0,
  };
}
