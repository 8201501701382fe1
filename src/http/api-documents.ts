/** `/openapi.json`, and `/docs`: a reference page that needs nothing from outside. */
import type { FastifyInstance } from "fastify";
import type { ApiDocument, ApiInfo } from "./api-document.ts";
import type { HttpServer } from "./create-server.ts";

const hidden = { schema: { hide: true }, config: { quiet: true } };

export function addApiDocuments(app: HttpServer, info: ApiInfo): void {
  // Both are loaded and made when first asked for, then kept.
  const document = once(async () => {
    const { makeApiDocument } = await import("./api-document.ts");
    return makeApiDocument(app, info);
  });
  const text = once(async () => JSON.stringify(await document()));
  const page = once(async () => openReferencePage(await document()));
  app.addHook("onClose", async () => {
    if (page.isMade()) await (await page()).close();
  });

  app.get("/openapi.json", hidden, async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(await text()),
  );
  const url = { page: "/docs", assets: "/docs/*" };
  for (const path of Object.values(url)) {
    app.get(path, hidden, async (request, reply) => {
      const answer = await (await page()).inject({ url: request.raw.url ?? url.page });
      for (const name of ["content-type", "content-security-policy", "etag", "location"]) {
        const value = answer.headers[name];
        if (value !== undefined) reply.header(name, value);
      }
      if (answer.statusCode === 404) return reply.callNotFound();
      return reply.status(answer.statusCode).send(answer.rawPayload);
    });
  }
}

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");

/**
 * The reference page lives on a server without a port and is asked through `inject`, so that its
 * answers leave through ours, with our headers and compression.
 */
async function openReferencePage(document: ApiDocument): Promise<FastifyInstance> {
  const [{ default: fastify }, { default: swagger }, { default: swaggerUi }] = await Promise.all([
    import("fastify"),
    import("@fastify/swagger"),
    import("@fastify/swagger-ui"),
  ]);
  const page = fastify({ routerOptions: { ignoreTrailingSlash: true, caseSensitive: false } });
  await page.register(swagger, { mode: "static", specification: { document: document as never } });
  await page.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: contentSecurityPolicy,
    uiConfig: { deepLinking: true, validatorUrl: null, tryItOutEnabled: true },
    theme: { title: document.info.title },
  });
  await page.ready();
  return page;
}

/** Makes the value at the first call; a failure is not kept. */
function once<T>(make: () => Promise<T>): (() => Promise<T>) & { isMade(): boolean } {
  let made: Promise<T> | undefined;
  const get = () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
  return Object.assign(get, { isMade: () => made !== undefined });
}
