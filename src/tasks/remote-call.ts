/**
 * What the task types that call a server over HTTP have in common: limits and accepted statuses from
 * the config, the headers of every call, and how an answer, or none, becomes a `TaskAnswer`.
 */
import type { JsonValue } from "../engine/exact-json.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { type HttpClient, OutgoingFailed, type OutgoingResponse } from "../outgoing/http-client.ts";
import { safeUrl } from "../outgoing/safe-url.ts";
import { isAcceptedStatus } from "./accepted-status.ts";
import { callHeaders, type CallHeaders } from "./call-headers.ts";
import { statusName } from "./status-name.ts";
import type { TaskAnswer, TaskCall, TaskPorts } from "./task-type.ts";
import { decodeText } from "./text-encoding.ts";

/**
 * One call. `timeoutSeconds`, `validateSsl` and `acceptedStatusCodes` are read from the task's config,
 * by the same rules for all types.
 */
export interface RemoteCall {
  /** The type's word in error codes: `Http`. */
  readonly name: string;
  readonly method: string;
  readonly url: string;
  /** The task's own; those of every call are added (`call-headers.ts`). */
  readonly headers: Readonly<CallHeaders>;
  readonly body?: string | Uint8Array | undefined;
  /** The address is the operator's (a sidecar): private ranges are fine. */
  readonly isConfigured?: boolean | undefined;
  /** What scripts read in `metadata` beside `ReasonPhrase`; default `Url` and `Method`. */
  readonly metadata?: Readonly<Record<string, JsonValue>> | undefined;
  /** `data` from the answer's text. */
  readonly dataOf: (text: string, response: OutgoingResponse) => JsonValue;
  /** The answer's text, where its charset is not only in its content type. */
  readonly textOf?: ((response: OutgoingResponse) => string) | undefined;
}

/**
 * Any status is an answer, and so is none at all (`isSuccess` false, no `statusCode`). Throws
 * `StepFailed` when the address is refused or the request is none: then nothing was asked.
 */
export async function callRemote(
  ports: Pick<TaskPorts, "invocationTimeoutMs"> & { readonly http: Pick<HttpClient, "send"> },
  call: TaskCall,
  remote: RemoteCall,
): Promise<TaskAnswer> {
  const { config, signal } = call;
  const { method, url, body, isConfigured } = remote;
  const timeoutMs = timeoutOf(config["timeoutSeconds"], ports.invocationTimeoutMs);
  const metadata = remote.metadata ?? { Url: safeUrl(url), Method: method };
  try {
    const response = await ports.http.send({
      url,
      method,
      headers: callHeaders(call, remote.headers),
      body,
      timeoutMs,
      validateTls: config["validateSsl"] !== false,
      isConfigured,
      signal,
    });
    return answerOf(remote, response, metadata, config["acceptedStatusCodes"]);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof OutgoingFailed)) throw error;
    if (error.reason === "refused" || error.reason === "badRequest") {
      throw notAsked(call, remote.name, reasonWords[error.reason], error.message, error);
    }
    return noAnswer(error, metadata);
  }
}

const reasonWords = { refused: "AddressRefused", badRequest: "InvalidRequest" } as const;

/** The failure of a task whose config, as its input handler left it, is nothing that can be sent. */
export const invalidRequest = (call: TaskCall, name: string, message: string): StepFailed =>
  notAsked(call, name, reasonWords.badRequest, message);

function notAsked(
  { key }: TaskCall,
  name: string,
  reason: string,
  message: string,
  cause?: unknown,
): StepFailed {
  return new StepFailed(
    {
      code: `Task:${name}:${reason}`,
      layer: "Task",
      task: key,
      taskType: name,
      message: `Task '${key}' was not sent: ${message}`,
      retryable: false,
    },
    { cause },
  );
}

const defaultTimeoutSeconds = 30;

/** The task's own limit, under the ceiling of all invocations. */
export function timeoutOf(timeoutSeconds: unknown, ceilingMs: number): number {
  const seconds = Number(timeoutSeconds ?? defaultTimeoutSeconds);
  return Math.min((seconds > 0 ? seconds : defaultTimeoutSeconds) * 1000, ceilingMs);
}

function answerOf(
  { dataOf, textOf = plainText }: RemoteCall,
  response: OutgoingResponse,
  metadata: Readonly<Record<string, JsonValue>>,
  accepted: unknown,
): TaskAnswer {
  const { status, statusText, headers } = response;
  const isSuccess = isAcceptedStatus(status, accepted);
  const text = textOf(response);
  return {
    data: dataOf(text, response),
    statusCode: status,
    isSuccess,
    errorMessage: isSuccess ? undefined : `HTTP ${statusName(status)}: ${statusText}`,
    headers,
    metadata: { ...metadata, ReasonPhrase: statusText },
    body: text,
    ...(isSuccess ? {} : { errorType: httpException }),
  };
}

const plainText = ({ body, headers }: OutgoingResponse): string =>
  decodeText(body, headers["content-type"]);

const httpException = "HttpRequestException";

/** A call that took too long is a cancelled one to scripts and error boundaries, as in .NET. */
function noAnswer(
  error: OutgoingFailed,
  metadata: Readonly<Record<string, JsonValue>>,
): TaskAnswer {
  const isTimeout = error.reason === "timeout";
  const errorType = isTimeout ? "TaskCanceledException" : httpException;
  return {
    data: undefined,
    isSuccess: false,
    errorMessage: isTimeout ? `HTTP request was cancelled: ${error.message}` : error.message,
    metadata: {
      ...metadata,
      ExceptionType: errorType,
      ...(isTimeout ? { Cancelled: true } : {}),
    },
    errorType,
    retryable: error.isRetryable,
  };
}
