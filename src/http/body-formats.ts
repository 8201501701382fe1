/**
 * The content types a body may have. Each format is one entry: adding another (form-urlencoded) is
 * handing it to `createServer({ bodyFormats: [jsonFormat, formFormat] })`. What no entry matches is 415.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { problems } from "../engine/problems.ts";
import { parseJsonBody } from "./json-body.ts";
import type { ServerLimits } from "./server-limits.ts";

export interface BodyFormat {
  /** As named to callers in a 415. */
  name: string;
  /** Media types: a string matches exactly (parameters aside), an expression must start with `^`. */
  contentTypes: (string | RegExp)[];
  /** Throws a `Problem` when the body is not what its content type says. */
  parse(body: Buffer, limits: ServerLimits, request: FastifyRequest): unknown;
}

export const jsonFormat: BodyFormat = {
  name: "application/json",
  contentTypes: ["application/json", "text/json", /^application\/[\w.-]+\+json(?:;|$)/],
  parse: parseJsonBody,
};

declare module "fastify" {
  interface FastifyRequest {
    /** The body's bytes as received; undefined without a body. */
    rawBody: Buffer | undefined;
  }
}

export function addBodyFormats(
  app: FastifyInstance,
  formats: readonly BodyFormat[],
  limits: ServerLimits,
): void {
  app.decorateRequest("rawBody", undefined);
  app.removeAllContentTypeParsers();
  for (const format of formats) {
    for (const contentType of format.contentTypes) {
      app.addContentTypeParser(
        contentType,
        { parseAs: "buffer" },
        (request: FastifyRequest, body: Buffer, done) => {
          refuseOtherEncodings(request, format);
          if (body.length > 0) request.rawBody = body;
          done(null, format.parse(body, limits, request));
        },
      );
    }
  }
}

/** We read UTF-8 that is not compressed. Anything else would be misread, so it is named and refused. */
function refuseOtherEncodings(request: FastifyRequest, format: BodyFormat): void {
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw problems.contentTypeNotSupported({
      given: `content encoding '${encoding.slice(0, 100)}'`,
      supported: `${format.name} without content encoding`,
    });
  }
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(
    request.headers["content-type"] ?? "",
  )?.[1];
  if (charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset)) {
    throw problems.contentTypeNotSupported({
      given: `charset '${charset.slice(0, 100)}'`,
      supported: `${format.name} in UTF-8`,
    });
  }
}
