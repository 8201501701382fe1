/** Anything thrown on the way of a request, as the problem its caller may see. */
import type { FastifyRequest } from "fastify";
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";

export interface RefusalFacts {
  limits: { bodyBytes: number };
  acceptedContentTypes: readonly string[];
}

export function toProblem(error: unknown, request: FastifyRequest, facts: RefusalFacts): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StorageUnavailable) return problems.storageUnavailable({}, { cause: error });
  switch (codeOf(error)) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return problems.bodyTooLarge({ limit: facts.limits.bodyBytes });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return contentTypeNotSupported(request, facts);
    // The client went away, or announced another length than it sent.
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
    case "ECONNRESET":
      return request.raw.complete && codeOf(error) === "ECONNRESET"
        ? problems.internalError({}, { cause: error })
        : problems.bodyIncomplete({});
    case "FST_ERR_BAD_URL":
      return problems.requestMalformed({ reason: "the path is not correctly percent-encoded" });
    case "FST_ERR_MAX_PARAM_LENGTH":
      return problems.routeNotFound({ method: request.method, path: "so long a path" });
    default:
      return problems.internalError({}, { cause: error });
  }
}

function contentTypeNotSupported(request: FastifyRequest, facts: RefusalFacts): Problem {
  const given = request.headers["content-type"];
  return problems.contentTypeNotSupported({
    given: given === undefined ? "no content type" : `content type '${given.slice(0, 100)}'`,
    supported: facts.acceptedContentTypes.join(" or "),
  });
}

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
