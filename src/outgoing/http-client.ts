/**
 * The one way out: every HTTP call that a definition, a package or the configuration asks for goes
 * through this port. The implementation is `open-http-client.ts`.
 */
export interface HttpClient {
  /** Any status is an answer. Throws `OutgoingFailed` when there is none. */
  send(request: OutgoingRequest): Promise<OutgoingResponse>;
  close(): Promise<void>;
}

export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  /** Names as they shall be sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** For the whole exchange: resolution, connection, redirects and the last byte of the answer. */
  readonly timeoutMs: number;
  /** False: a certificate is taken as it comes. Default true. */
  readonly validateTls?: boolean | undefined;
  /** How many redirects are followed, each checked like the first address. Default 5. */
  readonly redirects?: number | undefined;
  /** Largest answer, after decompression. Default: the client's own limit. */
  readonly maxBytes?: number | undefined;
  /**
   * The address is the operator's, from the configuration (a sidecar, another domain's runtime), not
   * a definition's: private ranges are no reason to refuse it. A redirect is still checked.
   */
  readonly isConfigured?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OutgoingResponse {
  readonly status: number;
  readonly statusText: string;
  /** Lower-case names; several values of one name are joined with a comma and a blank. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Where the answer came from, after redirects. */
  readonly url: string;
}

export type OutgoingFailure =
  /** The address is not one that may be called; says which rule and which setting. */
  | "refused"
  | "badRequest"
  | "resolution"
  | "connection"
  | "tls"
  | "timeout"
  | "cancelled"
  | "tooLarge"
  | "badAnswer";

export class OutgoingFailed extends Error {
  override readonly name = "OutgoingFailed";
  readonly reason: OutgoingFailure;

  constructor(reason: OutgoingFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }

  /** Whether the same call may succeed a moment later. */
  get isRetryable(): boolean {
    return (
      this.reason === "resolution" || this.reason === "connection" || this.reason === "timeout"
    );
  }
}
