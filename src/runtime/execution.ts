/** What a run is carried out with, and how far one has got. */
import type { Instance } from "../engine/instance.ts";
import type { SchemaError } from "../engine/json-schema.ts";
import type { Handled } from "../engine/transition/happenings.ts";
import type { QueuedRequest } from "../engine/transition/checkpoint.ts";
import type { Run, Tools } from "../engine/transition/run.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { IncidentStore } from "../storage/incident-store.ts";
import type { InstanceStore, JobToAdd } from "../storage/instance-store.ts";
import type { Job } from "../storage/job-store.ts";
import type { TaskJournal } from "../storage/task-journal.ts";
import type { TaskHost } from "../tasks/task-host.ts";
import type { Catalogue } from "./catalogue.ts";
import type { FaultPoint } from "./fault-point.ts";

export interface ExecutePorts {
  catalogue: Catalogue;
  store: InstanceStore;
  incidents: IncidentStore;
  journal: TaskJournal;
  scripts: ScriptHost;
  tasks: TaskHost;
  tools: Tools;
  /** From 0 to 1: spreads the retries of those who failed together. */
  dice: () => number;
  /** What a failed task without any error boundary means for its run. */
  unhandledFailure: "fault" | "continue";
  /** Jobs were written that somebody will have to do. */
  noticed: (jobs: readonly JobToAdd[]) => void;
  held: HeldJobs;
  /** Jobs in hand that follow from a write in the middle of a run: done at once, beside it. */
  doBeside: (jobs: readonly Job[]) => void;
  /** This node, as jobs name it. */
  nodeId: string;
  faultPoint: FaultPoint;
  /** Trouble that does not change the outcome. */
  onTrouble: (event: string, error: unknown) => void;
  /** A failure that a boundary dealt with. */
  onHandled: (handled: Handled, run: Run) => void;
}

/**
 * The jobs this node has in hand, from before they are written. A job that is the node's on disk and
 * not among them was left behind by a write nobody knew the outcome of; the job runner frees it.
 */
export interface HeldJobs {
  hold(jobId: string): void;
  letGo(jobId: string): void;
}

/** A run under way, and how far it is on disk. */
export interface Execution {
  run: Run;
  /** As last read or written. */
  stored: Instance | undefined;
  /** The job that stands for this run; none while everything is in memory. */
  job: Job | undefined;
  /** The job that led to this run: done with the run's first write. */
  causeId?: string | undefined;
  /** Where the last checkpoint stands; see `placeOf`. */
  checkpoint?: string | undefined;
  request: QueuedRequest;
  traceId: string | undefined;
  /** Which retry of the instance this is. */
  retry?: number | undefined;
  /** Before the run goes on. */
  waitMs?: number | undefined;
  /** Ends the run early: once aborted, it writes nothing more. */
  signal?: AbortSignal | undefined;
}

export type JobExecution = Execution & { stored: Instance; job: Job };

export type Executed =
  /** `followUps` are this node's, in hand: children to start, a parent to tell. */
  | { kind: "done"; instance: Instance; followUps: readonly Job[] }
  /** About to reach outside, and on disk: goes on as a job, which this node holds. */
  | { kind: "becameJob"; execution: JobExecution }
  /** On disk; nothing to do for a while. */
  | { kind: "postponed"; delayMs: number }
  /** The payload does not fit the master schema; nothing was written. */
  | { kind: "refused"; errors: readonly SchemaError[] }
  /**
   * Somebody else changed the instance meanwhile, or has the run now; nothing more was written.
   * `lost` is how far it had got when its job was found to be ours no longer.
   */
  | { kind: "overtaken"; lost?: Execution }
  | { kind: "keyInUse" };

/** Which group of tasks a run stands before. */
export const placeOf = ({ hop, phase, group }: Run): string => `${hop.recordId}:${phase}:${group}`;
