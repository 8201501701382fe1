/**
 * Which methods a path has. The router knows only "this method and path, or nothing", so the
 * difference between an unknown path (404) and a wrong method (405) is found here, and only after
 * the router found nothing.
 */
import type { Route } from "./route-list.ts";

/** Methods of every route whose path matches; empty for an unknown path. */
export function allowedMethods(routes: readonly Route[]): (path: string) => string[] {
  const patterns = new Map<string, RegExp>();
  return (path) => {
    const found = new Set<string>();
    for (const { method, url } of routes) {
      // A bare wildcard (CORS preflight) would make every path known.
      if (url === "*") continue;
      const pattern = patterns.get(url) ?? toRegExp(url);
      patterns.set(url, pattern);
      if (pattern.test(path)) found.add(method);
    }
    return [...found].toSorted();
  };
}

function toRegExp(url: string): RegExp {
  const body = url
    .split("/")
    .map((segment) => {
      if (segment.startsWith(":")) return "[^/]+";
      return segment === "*" ? ".*" : segment.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    })
    .join("/")
    .replace(/\/$/, "");
  return new RegExp(`^${body}/?$`, "i");
}
