/** What can be done with instances, wired to its ports. */
import type { Author, Instance } from "../engine/instance.ts";
import type { Incident, IncidentStore } from "../storage/incident-store.ts";
import {
  rowsPerPage,
  type Correlation,
  type InstanceAddress,
  type InstanceStore,
  type StoredRecord,
} from "../storage/instance-store.ts";
import { ackPoll } from "./ack-poll.ts";
import type { Asker } from "./asker.ts";
import type { JobStore } from "../storage/job-store.ts";
import { changeInstance, type TransitionRequest } from "./change-instance.ts";
import type { ExecutePorts } from "./execution.ts";
import type { Contention } from "./contention.ts";
import type { InFlight } from "./in-flight.ts";
import type { JobRunner } from "./job-runner.ts";
import { retryInstance, type Retried, type RetryRequest } from "./retry-instance.ts";
import type { Viewer } from "./check-roles.ts";
import { refuseQuery } from "./query-gate.ts";
import { dataAtVersion } from "./read-data.ts";
import { sightOf, type SightOf } from "./sight.ts";
import { runExtensions, type RunExtensions } from "./run-extensions.ts";
import { runOutput, type AnsweredRequest, type OutputResponse } from "./run-output.ts";
import { startInstance, type StartRequest } from "./start-instance.ts";

export type { Incident, StoredRecord };

export interface InstancePorts extends ExecutePorts {
  inFlight: InFlight;
  contention: Contention;
  jobs: JobRunner;
  jobStore: JobStore;
  enforceRoles: boolean;
  enforceQueryRoles: boolean;
  /** A start whose key is in use: refused, or answered with the instance that has it. */
  startOnExistingKey: "conflict" | "returnExisting";
}

export interface Outcome {
  /** As the request left it. */
  instance: Instance;
  /** Queued, not done. */
  accepted: boolean;
  /** What the workflow's output script answers in place of the envelope. */
  output?: OutputResponse | undefined;
}

export interface Instances {
  start(request: StartRequest): Promise<Outcome>;
  transition(request: TransitionRequest): Promise<Outcome>;
  /** Goes on with a faulted one from where its run stood. */
  retry(request: RetryRequest): Promise<Retried>;
  incidents: IncidentStore;
  /** Goes on with a run that paused until its caller has seen the state. */
  ackPoll(instance: Instance, asker: Asker): Promise<void>;
  /** Throws when `queryRoles` do not let the viewer look at the instance. */
  refuseQuery(instance: Instance, viewer: Viewer): Promise<void>;
  /** Children of an instance, oldest first. */
  correlations(instanceId: string): Promise<Correlation[]>;
  find(address: InstanceAddress): Promise<Instance | undefined>;
  /** With the data of a pinned version; undefined when there is no such version. */
  atVersion(instance: Instance, version: string): Promise<Instance | undefined>;
  /** Oldest first, some at a time. */
  recordPages(instanceId: string): AsyncGenerator<StoredRecord[], undefined>;
  /** Who made the last manual transition: what the gates of `check-roles.ts` may ask for. */
  lastManualAuthor(instanceId: string): Promise<Author | undefined>;
  /** What the viewer sees of its data. Everything that shows data to a caller asks here. */
  sightOf: SightOf;
  /** What extensions add to the instance for this reader. */
  extensions: RunExtensions;
}

export function createInstances(ports: InstancePorts): Instances {
  const store: InstanceStore = ports.store;
  return {
    start: async (request) =>
      beforeAnswer(ports, await withOutput(ports, request, await startInstance(ports, request))),
    transition: async (request) =>
      beforeAnswer(ports, await withOutput(ports, request, await changeInstance(ports, request))),
    retry: (request) => retryInstance(ports, request),
    incidents: ports.incidents,
    ackPoll: (instance, asker) => ackPoll(ports, instance, asker),
    refuseQuery: (instance, viewer) => refuseQuery(ports, instance, viewer),
    correlations: (instanceId) => store.correlations(instanceId),
    find: (address) => store.find(address),
    atVersion: (instance, version) => dataAtVersion(store, instance, version),
    recordPages: (instanceId) => recordPages(store, instanceId),
    lastManualAuthor: (instanceId) => store.lastManualAuthor(instanceId),
    sightOf: (instance, viewer) => sightOf(ports, instance, viewer),
    extensions: (...read) => runExtensions({ ...ports, uuid: ports.tools.uuid }, ...read),
  };
}

function beforeAnswer({ faultPoint }: InstancePorts, outcome: Outcome): Outcome {
  faultPoint("before-answer");
  return outcome;
}

/** Only what was waited for has an output; what is queued is answered by id and status. */
async function withOutput(
  ports: InstancePorts,
  request: AnsweredRequest,
  outcome: Outcome,
): Promise<Outcome> {
  // A subflow keeps the standard envelope.
  if (outcome.accepted || outcome.instance.origin !== undefined) return outcome;
  const output = await runOutput(ports, request, outcome.instance);
  return output === undefined ? outcome : { ...outcome, output };
}

async function* recordPages(
  store: InstanceStore,
  instanceId: string,
): AsyncGenerator<StoredRecord[], undefined> {
  let page = await store.recordPage(instanceId, 0);
  yield page;
  while (page.length === rowsPerPage) {
    page = await store.recordPage(instanceId, page.at(-1)!.seq);
    yield page;
  }
}
