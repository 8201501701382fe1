/**
 * The database cannot be reached, or answers too late. A fault, but one that passes: HTTP says 503
 * with `Retry-After`, jobs go back to the queue.
 */
export class StorageUnavailable extends Error {
  override readonly name = "StorageUnavailable";
  readonly retryAfterSeconds: number;

  constructor(message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1;
  }

  /** Of an attempt on several addresses (IPv4 and IPv6) only the code says what happened. */
  get reason(): string {
    const { message = "", code = "" } = (this.cause ?? {}) as { message?: string; code?: string };
    return message || code || this.message;
  }
}
