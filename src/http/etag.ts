/** Conditional reads. Body fields and headers carry the same quoted text. */

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
