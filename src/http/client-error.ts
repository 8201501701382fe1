/**
 * Answers for requests that never became one: headers too large, a line that is not HTTP, a client
 * too slow. Node gives us the bare socket; the caller still gets our headers and a problem body.
 */
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../log.ts";
import type { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import { pathOf, problemBody, problemContentType } from "./problem-response.ts";
import { newRequestContext, requestContextOf } from "./request-context.ts";
import type { ServerLimits } from "./server-limits.ts";
import { setStandardHeaders } from "./standard-headers.ts";

export interface ClientErrorSettings {
  appVersion: string;
  errorTypeBase: string;
  limits: ServerLimits;
  log: Log;
}

/** What Node adds to the error of an HTTP parser. */
interface ParserError extends Error {
  code?: string;
  reason?: string;
  rawPacket?: Buffer;
}

/** What Node keeps on the socket of a request whose headers were read. */
type BusySocket = Socket & { _httpMessage?: ServerResponse | null };

/** Time for the client to read our answer while it is still writing; then the connection is cut. */
const lingerMs = 1000;

export function createClientErrorHandler(
  settings: ClientErrorSettings,
): (error: Error, socket: Socket) => void {
  return (given, socket) => {
    const error = given as ParserError;
    const answering = (socket as BusySocket)["_httpMessage"];
    if (socket.writableEnded) return;
    // Nobody there to answer, or the answer would be taken for that of the request before this one.
    const busy = answering?.headersSent === true || answering?.req.complete === true;
    if (error.code === "ECONNRESET" || !socket.writable || busy) {
      socket.destroy();
      return;
    }
    const problem = problemOf(error, settings.limits);
    const { bytes, requestId, traceId } = responseOf(problem, error, answering?.req, settings);
    settings.log.info(
      { requestId, traceId, status: problem.status, code: error.code },
      "RequestUnreadable",
    );
    answerAndClose(socket, bytes);
  };
}

function problemOf(error: ParserError, limits: ServerLimits): Problem {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return problems.headersTooLarge({ bytes: limits.headerBytes, count: limits.headerCount });
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return problems.requestTimeout({ seconds: limits.requestTimeoutMs / 1000 });
    default:
      return problems.requestMalformed({ reason: error.reason ?? "it cannot be read" });
  }
}

function responseOf(
  problem: Problem,
  error: ParserError,
  request: IncomingMessage | undefined,
  { appVersion, errorTypeBase }: ClientErrorSettings,
): { bytes: string; requestId: string; traceId: string } {
  const context = request === undefined ? newRequestContext() : requestContextOf(request);
  const body = JSON.stringify(
    problemBody(problem, {
      errorTypeBase,
      instance: pathOf(request?.url ?? targetIn(error.rawPacket)),
      traceparent: context.trace.traceparent,
    }),
  );
  const lines = [`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`];
  const header = (name: string, value: string) => lines.push(`${name}: ${value}`);
  header("date", new Date().toUTCString());
  setStandardHeaders({ header }, appVersion, context);
  header("content-type", problemContentType);
  header("content-length", String(Buffer.byteLength(body)));
  header("connection", "close");
  return {
    bytes: `${lines.join("\r\n")}\r\n\r\n${body}`,
    requestId: context.requestId,
    traceId: context.trace.traceId,
  };
}

/** The path of the request line, when the packet that failed still begins with it. */
const targetIn = (packet: Buffer | undefined) =>
  /^[A-Z]+ (\/[\x21-\x7e]*)/.exec(packet?.toString("latin1", 0, 2048) ?? "")?.[1] ?? "";

/**
 * Closing a socket with unread bytes resets the connection, and the reset may overtake the answer.
 * So we end our side, swallow what still comes, and cut the connection a moment later.
 */
function answerAndClose(socket: Socket, bytes: string): void {
  socket.end(bytes);
  socket.on("error", () => socket.destroy());
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
