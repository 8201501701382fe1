import type { Viewer } from "./check-roles.ts";

/** Who reads an instance or calls a function, and with what request. */
export interface Asker {
  readonly viewer: Viewer;
  /** Lower-case names; credentials are masked. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names as they were sent. */
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly route: Readonly<Record<string, string>>;
  readonly rawBody?: string | undefined;
  /** `Accept-Language`. */
  readonly language: string | undefined;
  readonly traceId: string | undefined;
  /** How many tasks that reach instances led here, one inside the other. */
  readonly triggerDepth: number;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}
