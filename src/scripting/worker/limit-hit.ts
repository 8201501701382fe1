/** Thrown through the engine to end a call at once. Never seen by a script. */
export class LimitHit extends Error {
  readonly limit: "timeout" | "memory" | "aborted";

  constructor(limit: "timeout" | "memory" | "aborted") {
    super(limit);
    this.limit = limit;
  }
}
