/** Faults an instance from outside of its run: the run is lost, too late, or could not begin. */
import type { Author, Instance } from "../engine/instance.ts";
import { createSecretMask } from "../engine/mask-secrets.ts";
import type { TaskFailure } from "../engine/task-failure.ts";
import type { TransitionRecord } from "../engine/transition/run.ts";
import { runWrite, type EndsOthers } from "../storage/instance-store.ts";
import type { Job } from "../storage/job-store.ts";
import type { ExecutePorts } from "./execution.ts";
import { tellParent } from "./write-run.ts";

export interface Fault {
  failure: TaskFailure;
  transition: string;
  record?: TransitionRecord | undefined;
  removeJob?: string | undefined;
  endsOthers?: EndsOthers | undefined;
  author: Author;
  headers: Readonly<Record<string, string>>;
  roles: readonly string[];
  traceId: string | undefined;
  /** JSON text: what a retry goes on with. */
  resume: string | undefined;
}

export type FaultWritten =
  | { kind: "done"; instance: Instance; followUps: readonly Job[] }
  | { kind: "overtaken" };

const mask = createSecretMask();

export async function writeFault(
  ports: ExecutePorts,
  instance: Instance,
  fault: Fault,
): Promise<FaultWritten> {
  const { tools, held, nodeId } = ports;
  const { record, failure, traceId } = fault;
  const faulted: Instance = {
    ...instance,
    status: "F",
    lastSeq: record?.seq ?? instance.lastSeq,
    modifiedAt: tools.now(),
    hasActiveIncident: true,
    incidentCount: instance.incidentCount + 1,
  };
  const followUps = tellParent(tools, faulted, fault);
  for (const { id } of followUps) held.hold(id);
  const letGo = () => {
    for (const { id } of followUps) held.letGo(id);
  };
  const isWritten = await ports.store
    .write(
      runWrite({
        instance: faulted,
        records: record === undefined ? [] : [record],
        outcome: record?.idempotencyKey === undefined ? undefined : { seq: record.seq },
        addJobs: followUps.map((job) => ({ ...job, owner: nodeId })),
        removeJob: fault.removeJob,
        endsOthers: fault.endsOthers,
        ownOutcome: instance.origin === undefined ? undefined : "faulted",
        incidents: [
          {
            id: tools.uuid(),
            traceId,
            state: instance.current.key,
            transition: fault.transition,
            failure: { ...failure, message: mask.text(failure.message) },
            boundary: failure.layer === "Job" ? { action: "abort", level: "Job" } : undefined,
            retryCount: 0,
            isResolved: false,
            resume: fault.resume,
          },
        ],
      }),
    )
    .catch((error: unknown) => {
      letGo();
      throw error;
    });
  if (!isWritten) {
    letGo();
    return { kind: "overtaken" };
  }
  return { kind: "done", instance: { ...faulted, rev: instance.rev + 1 }, followUps };
}
