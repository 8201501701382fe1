/**
 * The outside let us down, or a script did. Travels as data into the error boundary, which decides:
 * retry, another transition, or an incident.
 */
export interface TaskFailure {
  /** Such as `Task:Http:503` or `Task:Unknown:<task key>`. */
  readonly code: string;
  readonly layer: "Transport" | "Task" | "Pipeline" | "Job";
  /** For a person: what failed, with which value, and what to do. */
  readonly message: string;
  readonly task?: string | undefined;
  /** The word for the task's type: `Http`. */
  readonly taskType?: string | undefined;
  readonly statusCode?: number | undefined;
  /** The exception's name, as the public system would say it: `TaskCanceledException`. */
  readonly errorType?: string | undefined;
  readonly retryable: boolean;
}

/** Thrown by whoever performs a step; caught once, where runs are executed. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly failure: TaskFailure;

  constructor(failure: TaskFailure, options?: { cause?: unknown }) {
    super(failure.message, options);
    this.failure = failure;
  }
}
