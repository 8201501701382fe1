/** Performs what a run waits for. The only place where a step's failure becomes data. */
import { Problem } from "../engine/problem.ts";
import { asksForPrevious, rolesAllow } from "../engine/role-gate.ts";
import { StepFailed, type TaskFailure } from "../engine/task-failure.ts";
import type { Happened, Todo } from "../engine/transition/happenings.ts";
import type { LongPoll } from "../engine/definition/model.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { ExecutePorts, Execution } from "./execution.ts";
import { outcomeOfChild } from "./outcome-of-child.ts";
import { longPollAt, overridesOf } from "./overrides.ts";
import { planChild } from "./plan-child.ts";
import { runTasks, type GroupEnd } from "./run-tasks.ts";
import { scriptRequest } from "./script-request.ts";

export type Performed = Happened | Extract<GroupEnd, { kind: "postponed" }>;

export async function performStep(
  ports: ExecutePorts,
  execution: Execution,
  todo: Todo,
): Promise<Performed> {
  try {
    return await perform(ports, execution, todo);
  } catch (error) {
    const failure = failureIn(error);
    if (failure === undefined) throw error;
    return { kind: "failed", failure };
  }
}

async function perform(ports: ExecutePorts, execution: Execution, todo: Todo): Promise<Performed> {
  const { scripts } = ports;
  const { run } = execution;
  switch (todo.kind) {
    case "map": {
      const value = await scripts.map(scriptRequest(ports, execution, todo.transition.mapping!));
      return { kind: "mapped", value };
    }
    case "rules": {
      const { id } = run.instance;
      if (todo.mayBeMoving && (await ports.store.hasMover(id, execution.job?.id))) {
        return { kind: "moving" };
      }
      for (const candidate of todo.candidates) {
        const { rule } = candidate;
        const holds =
          rule === undefined || (await scripts.holds(scriptRequest(ports, execution, rule)));
        if (holds) return { kind: "chosen", transition: candidate };
      }
      return { kind: "chosen", transition: undefined };
    }
    case "timers": {
      const timers = [];
      for (const { key, timer } of todo.transitions) {
        if (timer === undefined) continue;
        const schedule = await scripts.schedule(scriptRequest(ports, execution, timer));
        timers.push({ sourceState: run.instance.current.key, transitionKey: key, ...schedule });
      }
      return { kind: "scheduled", timers };
    }
    case "tasks":
      return runTasks(ports, execution, todo);
    case "subflow":
      return { kind: "childPlanned", child: await planChild(ports, execution, todo.subFlow) };
    case "longPoll":
      return askForPoll(ports, execution, todo.longPoll);
    case "childOutcome":
      return outcomeOfChild(ports, execution, todo);
  }
}

/** A parent may replace for whom its subflow's state waits, and how long. */
async function askForPoll(
  ports: ExecutePorts,
  execution: Execution,
  own: LongPoll,
): Promise<Happened> {
  const { program, instance } = execution.run;
  const overrides = await overridesOf(ports.catalogue, instance);
  const longPoll = longPollAt(program.workflow, overrides, instance.current.key) ?? own;
  const ends = await endsPoll(ports, execution, longPoll);
  return { kind: "pollEnds", ends, fallbackSeconds: longPoll.fallbackTimeoutSeconds };
}

async function endsPoll(
  ports: ExecutePorts,
  execution: Execution,
  { roles: grants, rule }: LongPoll,
): Promise<boolean> {
  if (rule !== undefined) return ruleHolds(ports, execution, rule);
  const { instance, roles, author } = execution.run;
  const previous = asksForPrevious(grants)
    ? await ports.store.lastManualAuthor(instance.id)
    : undefined;
  return rolesAllow(grants, { roles, author, instance, previous });
}

/** One that fails ends no poll: the run goes on, as if the state did not wait. */
async function ruleHolds(
  ports: ExecutePorts,
  execution: Execution,
  rule: ScriptCode,
): Promise<boolean> {
  try {
    return await ports.scripts.holds(scriptRequest(ports, execution, rule));
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    ports.onTrouble("LongPollRuleFailed", error);
    return false;
  }
}

function failureIn(error: unknown): TaskFailure | undefined {
  if (error instanceof StepFailed) return error.failure;
  // A definition that is referred to and not published: the run cannot go on, the service can.
  if (error instanceof Problem) {
    return { code: error.code, layer: "Pipeline", message: error.message, retryable: false };
  }
  return undefined;
}
