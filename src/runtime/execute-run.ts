/**
 * Carries out what the engine decides: performs each step a run waits for, writes before anything
 * leaves the process, and writes the end.
 *
 * Work without effects outside is only in memory until the end, so a whole chain of transitions is
 * one commit and a crash repeats nothing but thinking. A run that is about to reach outside is
 * written with a job that names this node, and goes on as that job: with its budget, its retries and
 * its takeover when the node dies, whoever waits for it (`run-job.ts`). Each such task's result is
 * journaled before the run goes on. Whoever takes the job over starts from the last checkpoint and
 * finds the results there.
 */
import type { Component } from "../engine/component.ts";
import type { TaskBinding } from "../engine/definition/model.ts";
import type { Instance } from "../engine/instance.ts";
import type { SchemaError } from "../engine/json-schema.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { advance, type Handled } from "../engine/transition/advance.ts";
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
import { performStep } from "./perform-step.ts";
import { definitionOf, Overtaken } from "./run-tasks.ts";
import { writeCheckpoint, writeEnd } from "./write-run.ts";

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
  /** Somebody else changed the instance meanwhile, or has the run now; nothing more was written. */
  | { kind: "overtaken" }
  | { kind: "keyInUse" };

export async function executeRun(ports: ExecutePorts, execution: Execution): Promise<Executed> {
  try {
    return await execute(ports, execution);
  } catch (error) {
    if (error instanceof Overtaken) return { kind: "overtaken" };
    throw error;
  }
}

async function execute(ports: ExecutePorts, execution: Execution): Promise<Executed> {
  const { tools } = ports;
  let current = execution;
  let step = advance(current.run, { kind: "begun" }, tools);
  while (step.kind === "waiting") {
    current = { ...current, run: step.run };
    if (step.todo.kind === "tasks" && current.checkpoint !== placeOf(step.run)) {
      if (await reachesOutside(ports, step.todo.bindings)) {
        const written = await writeCheckpoint(ports, current);
        if (!("run" in written)) return written;
        if (current.job === undefined) return { kind: "becameJob", execution: written };
        current = written;
      }
    }
    const performed = await performStep(ports, current, step.todo);
    current.signal?.throwIfAborted();
    if (performed.kind === "postponed") return postpone(ports, current, performed);
    step = advance(current.run, performed, tools);
    if (step.handled !== undefined) ports.onHandled(step.handled, current.run);
  }
  if (step.kind === "refused") return { kind: "refused", errors: step.errors };
  return writeEnd(ports, { ...current, run: step.run });
}

/** Which group of tasks a run stands before. */
export const placeOf = ({ hop, phase, group }: Run): string => `${hop.recordId}:${phase}:${group}`;

/** An unknown task is no reason to write; running it will report it. */
async function reachesOutside(
  ports: ExecutePorts,
  bindings: readonly TaskBinding[],
): Promise<boolean> {
  const definitions = await Promise.all(bindings.map((binding) => definitionOf(ports, binding)));
  const known = definitions.filter((it): it is Component => !(it instanceof StepFailed));
  if (known.length < definitions.length) return false;
  return known.some((it, i) => ports.tasks.isEffectful(it, bindings[i]?.mapping));
}

/** A long wait holds no worker and outlives the node: the run is written and comes back as a job. */
async function postpone(
  ports: ExecutePorts,
  execution: Execution,
  { delayMs, failedAttempts }: { delayMs: number; failedAttempts: Run["failedAttempts"] },
): Promise<Executed> {
  const run: Run = { ...execution.run, failedAttempts };
  const written = await writeCheckpoint(ports, { ...execution, run });
  if (!("run" in written)) return written;
  return execution.job === undefined
    ? { kind: "becameJob", execution: { ...written, waitMs: delayMs } }
    : { kind: "postponed", delayMs };
}
