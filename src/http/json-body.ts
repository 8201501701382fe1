/**
 * JSON request bodies, read in one place.
 *
 * UTF-8 only, a byte order mark is tolerated. An empty body is no body. Of a name that occurs twice
 * in one object the last value counts, as `JSON.parse` does everywhere. `__proto__` becomes an
 * ordinary own member: it changes no prototype, and nothing above may merge it into one. Numbers
 * that a double would spell differently are `ExactNumber`s.
 */
import { isUtf8 } from "node:buffer";
import { JsonError, parseJson } from "../engine/exact-json.ts";
import { problems } from "../engine/problems.ts";

export interface JsonLimits {
  jsonDepth: number;
}

export function parseJsonBody(body: Buffer, limits: JsonLimits): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw problems.bodyNotJson({ reason: "it is not valid UTF-8" });
  if (nestsDeeperThan(body, limits.jsonDepth)) {
    throw problems.bodyTooDeep({ limit: limits.jsonDepth });
  }
  const text = body.toString("utf8", startsWithMark(body) ? 3 : 0);
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw problems.bodyNotJson({ reason: whyNot(error) }, { cause: error });
  }
}

const startsWithMark = (body: Buffer) => body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;

const quote = 0x22;
const backslash = 0x5c;

/** Counts brackets outside strings, before parsing: a deep body costs a scan, never a deep value. */
function nestsDeeperThan(body: Buffer, limit: number): boolean {
  if (body.length <= limit) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < body.length; i += 1) {
    const byte = body[i]!;
    if (inString) {
      if (byte === backslash) i += 1;
      else if (byte === quote) inString = false;
    } else if (byte === quote) {
      inString = true;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    }
  }
  return false;
}

/** Where it broke, and no more than one character of it: the body may hold a secret. */
const whyNot = (error: JsonError): string =>
  error.message.replace(/^Not valid JSON /, "").replace(/\.$/, "");
