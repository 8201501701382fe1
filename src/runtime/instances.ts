/** What can be done with instances, wired to its ports. */
import type { Instance } from "../engine/instance.ts";
import type { InstanceAddress, InstanceStore, StoredRecord } from "../storage/instance-store.ts";
import { changeInstance, type TransitionRequest } from "./change-instance.ts";
import type { ExecutePorts } from "./execute-run.ts";
import type { InFlight } from "./in-flight.ts";
import type { JobRunner } from "./job-runner.ts";
import { dataAtVersion } from "./read-data.ts";
import { runOutput, type AnsweredRequest, type OutputResponse } from "./run-output.ts";
import { startInstance, type StartRequest } from "./start-instance.ts";

export type { StoredRecord };

export interface InstancePorts extends ExecutePorts {
  inFlight: InFlight;
  jobs: JobRunner;
  enforceRoles: boolean;
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
  find(address: InstanceAddress): Promise<Instance | undefined>;
  /** With the data of a pinned version; undefined when there is no such version. */
  atVersion(instance: Instance, version: string): Promise<Instance | undefined>;
  records(instanceId: string): Promise<StoredRecord[]>;
}

export function createInstances(ports: InstancePorts): Instances {
  const store: InstanceStore = ports.store;
  return {
    start: async (request) =>
      beforeAnswer(ports, await withOutput(ports, request, await startInstance(ports, request))),
    transition: async (request) =>
      beforeAnswer(ports, await withOutput(ports, request, await changeInstance(ports, request))),
    find: (address) => store.find(address),
    atVersion: (instance, version) => dataAtVersion(store, instance, version),
    records: (instanceId) => store.records(instanceId),
  };
}

function beforeAnswer({ faultPoint }: InstancePorts, outcome: Outcome): Outcome {
  faultPoint("before-answer");
  return outcome;
}

/** Only what was waited for has an output; what is queued is answered by id and status. */
async function withOutput(
  ports: InstancePorts,
  request: AnsweredRequest & { sync: boolean },
  outcome: Outcome,
): Promise<Outcome> {
  if (!request.sync || outcome.accepted) return outcome;
  const output = await runOutput(ports, request, outcome.instance);
  return output === undefined ? outcome : { ...outcome, output };
}
