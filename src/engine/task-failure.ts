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
  readonly statusCode?: number | undefined;
  readonly retryable: boolean;
}
