/** A refusal as a response: RFC 7807, the one place where a `Problem` or anything else thrown becomes HTTP. */
import { PayloadRejected } from "../engine/payload-rejected.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ErrorsByPath, Problem } from "../engine/problem.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import { sendPayloadRejected } from "./payload-rejected-response.ts";
import { requestContextOf } from "./request-context.ts";
import { toProblem } from "./to-problem.ts";

export const problemContentType = "application/problem+json; charset=utf-8";

export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  errors?: ErrorsByPath;
  errorCode: string;
  prefix: string;
  code: string;
  traceId: string;
  target?: string;
}

export function problemBody(
  problem: Problem,
  at: { errorTypeBase: string; instance: string; traceparent: string },
): ProblemBody {
  const { status, prefix, code } = problem;
  return {
    type: `${at.errorTypeBase}/${status}/${prefix}/${code.replaceAll(/[:.]/g, "/")}`,
    title: problem.title,
    status,
    detail: problem.message,
    instance: at.instance,
    // Clients of validation problems read `errors` unasked: it is there even when nothing is in it.
    ...(problem.errors !== undefined || prefix === "validation"
      ? { errors: problem.errors ?? {} }
      : {}),
    errorCode: problem.errorCode,
    prefix,
    code,
    traceId: at.traceparent,
    ...(problem.target === undefined ? {} : { target: problem.target }),
  };
}

export interface ProblemSettings {
  errorTypeBase: string;
  limits: { bodyBytes: number };
  acceptedContentTypes: readonly string[];
}

/** Answers `error`, logging it when it is a fault of ours. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  settings: ProblemSettings,
): FastifyReply {
  if (error instanceof PayloadRejected) return sendPayloadRejected(error, request, reply);
  const problem = toProblem(error, request, settings);
  if (problem.status >= 500) logFault(error, problem, request);

  // Fastify closes the connection when a body is refused; there is no need once all of it was read.
  if (request.raw.complete && reply.hasHeader("connection") && wantsMore(request)) {
    reply.header("connection", "keep-alive");
  }
  reply.removeHeader("etag").code(problem.status).header("content-type", problemContentType);
  if (problem.status >= 500) {
    reply.header("cache-control", "no-cache").header("pragma", "no-cache").header("expires", "-1");
  }
  if (problem.status === 503) reply.header("retry-after", String(retryAfterSeconds(error)));
  const body = problemBody(problem, {
    errorTypeBase: settings.errorTypeBase,
    instance: pathOf(request.originalUrl),
    traceparent: requestContextOf(request.raw).trace.traceparent,
  });
  return reply.send(JSON.stringify(body));
}

const wantsMore = ({ raw }: FastifyRequest) =>
  raw.httpVersion === "1.1" && raw.headers.connection?.toLowerCase() !== "close";

export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** Storage that is away is an expected fault: told with its reason. Anything else has its stack in the log. */
function logFault(error: unknown, problem: Problem, request: FastifyRequest): void {
  const { status, errorCode, message } = problem;
  if (status === 503) {
    const reason = error instanceof StorageUnavailable ? error.reason : message;
    request.log.warn({ reason, status, errorCode }, "RequestRefusedTemporarily");
  } else request.log.error({ err: error, status, errorCode }, "RequestFailed");
}

const retryAfterSeconds = (error: unknown) =>
  error instanceof StorageUnavailable ? error.retryAfterSeconds : 1;
