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
import { StepFailed } from "../engine/task-failure.ts";
import { advance } from "../engine/transition/advance.ts";
import type { Run } from "../engine/transition/run.ts";
import { placeOf, type Executed, type ExecutePorts, type Execution } from "./execution.ts";
import { performStep } from "./perform-step.ts";
import { definitionOf, Overtaken } from "./run-tasks.ts";
import { writeCheckpoint, writeEnd } from "./write-run.ts";

export async function executeRun(ports: ExecutePorts, execution: Execution): Promise<Executed> {
  try {
    return await execute(ports, execution);
  } catch (error) {
    if (error instanceof Overtaken) return { kind: "overtaken", lost: error.execution };
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
