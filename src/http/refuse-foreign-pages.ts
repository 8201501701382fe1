/**
 * On somebody's own machine everything that can reach the service may use it, and a web page of a
 * stranger, open in that person's browser, can: forms and simple requests need no permission to be
 * sent. A browser says which page sends, so such requests are refused. Names that a stranger lets
 * point to this machine are no way around it: the page's own name is what counts. Reads are left
 * alone: their answers stay hidden from the page.
 *
 * Only there: behind a gateway it is the gateway's business, and tokens are not sent by themselves.
 */
import type { FastifyInstance } from "fastify";
import { problems } from "../engine/problems.ts";

/** `allowed` as in `Http.CorsOrigins`. */
export function refuseForeignPages(app: FastifyInstance, allowed: readonly string[]): void {
  if (allowed.includes("*")) return;
  app.addHook("onRequest", (request, _reply, done) => {
    const { origin } = request.headers;
    const isFine =
      origin === undefined ||
      reads.has(request.method) ||
      allowed.includes(origin) ||
      isOfThisMachine(origin);
    done(isFine ? undefined : problems.foreignPage({ origin: origin.slice(0, 200) }));
  });
}

const reads: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

function isOfThisMachine(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  return /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}
