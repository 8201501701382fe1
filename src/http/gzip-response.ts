/**
 * Compresses answers for those who ask for it. Only gzip, in the thread pool, with its length known:
 * @fastify/compress compresses small bodies on the main thread and sends large ones in chunks.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { createGzip, gzip } from "node:zlib";
import { pipeline, Readable } from "node:stream";

const thresholdBytes = 1024;
const compressible =
  /^(?:text\/(?!event-stream)|application\/(?:[\w.-]+\+)?(?:json|xml|javascript))/;

type Done = (error: Error | null, payload?: unknown) => void;

export function gzipResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: Done,
): void {
  if (!isWorthIt(payload) || !mayCompress(reply)) {
    done(null, payload);
    return;
  }
  reply.header("vary", withAcceptEncoding(reply.getHeader("vary")));
  if (!acceptsGzip(request.headers["accept-encoding"])) {
    done(null, payload);
    return;
  }
  if (payload instanceof Readable) {
    reply.removeHeader("content-length").header("content-encoding", "gzip");
    // A broken source destroys the compressed stream too, which Fastify notices and logs.
    done(
      null,
      pipeline(payload, createGzip(), () => undefined),
    );
    return;
  }
  gzip(payload, (error, compressed) => {
    if (error) {
      done(null, payload);
      return;
    }
    reply.header("content-encoding", "gzip").header("content-length", String(compressed.length));
    done(null, compressed);
  });
}

const isWorthIt = (payload: unknown): payload is string | Buffer | Readable =>
  typeof payload === "string" || Buffer.isBuffer(payload)
    ? payload.length >= thresholdBytes
    : payload instanceof Readable;

const mayCompress = (reply: FastifyReply) =>
  !reply.hasHeader("content-encoding") &&
  !reply.hasHeader("content-range") &&
  compressible.test(String(reply.getHeader("content-type") ?? "application/json"));

export function acceptsGzip(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  let any = false;
  for (const item of String(header).toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    const refused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    // A word about gzip itself counts more than one about everything.
    if (name === "gzip" || name === "x-gzip") return !refused;
    if (name === "*") any = !refused;
  }
  return any;
}

const withAcceptEncoding = (vary: number | string | string[] | undefined) =>
  vary === undefined ? "accept-encoding" : `${vary.toString()}, accept-encoding`;
