/**
 * Error boundaries: which rule speaks for a failure, and how long a retry waits.
 *
 * Asked from the inside out: the task's own boundary, the state's, the workflow's. The first level
 * with a rule that matches decides. A rule names error types, error codes, both (either is enough) or
 * neither (it is for every error); `*` is every name.
 */
import type { ErrorBoundary, ErrorRule, RetryPolicy, TaskBinding } from "../definition/model.ts";
import type { ErrorAction } from "../definition/enumerations.ts";
import type { TaskFailure } from "../task-failure.ts";
import { stateOf, type Run } from "./run.ts";

/** `Job`: no rule was asked, because the run itself was lost or too late. */
export type BoundaryLevel = "Task" | "State" | "Global" | "Job";

export interface BoundaryDecision {
  readonly level: BoundaryLevel;
  readonly rule: ErrorRule;
}

interface Level {
  readonly level: BoundaryLevel;
  readonly boundary: ErrorBoundary | undefined;
}

export function boundariesOf(run: Run, binding: TaskBinding | undefined): readonly Level[] {
  return [
    { level: "Task", boundary: binding?.errorBoundary },
    { level: "State", boundary: stateOf(run, run.instance.current.key)?.errorBoundary },
    { level: "Global", boundary: run.program.workflow.errorBoundary },
  ];
}

export function decideBoundary(
  levels: readonly Level[],
  failure: TaskFailure,
  accepts: (action: ErrorAction) => boolean = () => true,
): BoundaryDecision | undefined {
  const names = namesOf(failure);
  for (const { level, boundary } of levels) {
    const rule = boundary?.onError.find((it) => accepts(it.action) && matches(it, names));
    if (rule !== undefined) return { level, rule };
  }
  return undefined;
}

/**
 * The wait before a further attempt, or undefined when there is none to make: the rule that matches
 * this failure is no retry, or its retries are used up. Asked anew for each failure, because the next
 * one may be another.
 */
export function retryDelay(
  run: Run,
  binding: TaskBinding,
  failure: TaskFailure,
  retriesMade: number,
  dice: () => number,
): number | undefined {
  const rule = decideBoundary(boundariesOf(run, binding), failure)?.rule;
  if (rule?.action !== "retry" || rule.retryPolicy === undefined) return undefined;
  if (retriesMade >= rule.retryPolicy.maxRetries) return undefined;
  return backoff(rule.retryPolicy, retriesMade, dice);
}

/** Jitter spreads a quarter to both sides, so that those who failed together do not return together. */
export function backoff(policy: RetryPolicy, retriesMade: number, dice: () => number): number {
  const factor = policy.backoffType === "exponential" ? policy.backoffMultiplier ** retriesMade : 1;
  const delay = Math.min(policy.initialDelayMs * factor, policy.maxDelayMs);
  return policy.useJitter ? delay * (0.75 + dice() / 2) : delay;
}

interface Names {
  readonly types: readonly string[];
  readonly codes: readonly string[];
}

/** The codes a failure answers to: its own, the bare status, and the form with the task's key. */
function namesOf({ code, statusCode, errorType, taskType, task }: TaskFailure): Names {
  const status = statusCode === undefined ? [] : [String(statusCode)];
  const byTask = taskType === undefined || task === undefined ? [] : [`Task:${taskType}:${task}`];
  return {
    types: errorType === undefined ? [] : [errorType.toLowerCase()],
    codes: [
      code,
      ...status,
      ...byTask,
      ...byTask.flatMap((it) => status.map((s) => `${it}:${s}`)),
    ].map((it) => it.toLowerCase()),
  };
}

function matches({ errorTypes, errorCodes }: ErrorRule, { types, codes }: Names): boolean {
  if (errorTypes.length === 0 && errorCodes.length === 0) return true;
  return (
    errorTypes.some(
      (name) => name === "*" || types.some((it) => it.endsWith(name.toLowerCase())),
    ) || errorCodes.some((name) => name === "*" || codes.includes(name.toLowerCase()))
  );
}
