/**
 * Conditional reads. An ETag names what this caller would see; it is made from version numbers, not
 * by hashing bodies. Body fields and headers carry the same quoted text.
 */
import { hash } from "node:crypto";

/** 43 characters of base64url, quoted: the form the public system's clients know. */
export function etagOf(...parts: (string | number | undefined)[]): string {
  return `"${hash("sha256", parts.join("\u0000"), "base64url")}"`;
}

/** `If-None-Match` against one ETag: a list, `*`, and weak forms all count (RFC 9110, 13.1.2). */
export function etagMatches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const wanted = opaque(etag);
  // An opaque tag may hold a comma, so quoted parts are taken whole.
  for (const [part] of ifNoneMatch.matchAll(/(?:W\/)?"[^"]*"|[^\s,]+/g)) {
    if (part === "*" || opaque(part) === wanted) return true;
  }
  return false;
}

const opaque = (etag: string) => etag.replace(/^W\//, "").replace(/^"(.*)"$/s, "$1");
