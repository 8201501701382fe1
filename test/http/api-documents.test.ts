import { Type } from "typebox";
import { expect, test } from "vitest";
import { isDocumented, type ApiDocument } from "../../src/http/api-document.ts";
import { addApiDocuments } from "../../src/http/api-documents.ts";
import type { HttpServer } from "../../src/http/create-server.ts";
import { addHealthRoutes } from "../../src/http/health-routes.ts";
import { createMetrics } from "../../src/metrics.ts";
import { aServer } from "../support/a-server.ts";

const Thing = Type.Object(
  { name: Type.String(), size: Type.Optional(Type.Integer()) },
  { $id: "Thing" },
);

function aDocumentedServer(): HttpServer {
  const { app } = aServer();
  const metrics = createMetrics();
  app.addHook("onClose", () => metrics.close());
  addHealthRoutes(app, { version: "1.2.3", schemaVersion: "0.0.49", checks: [], metrics });
  app.addSchema(Thing);
  app.post(
    "/api/v1/:domain/things",
    {
      schema: {
        summary: "Make a thing",
        tags: ["things"],
        params: Type.Object({ domain: Type.String() }),
        querystring: Type.Object({ pageSize: Type.Integer({ default: 20 }) }),
        body: Type.Ref("Thing"),
        response: { 200: Type.Ref("Thing") },
      },
    },
    (request) => request.body as never,
  );
  app.route({ method: ["PUT", "PATCH"], url: "/api/v1/both", handler: () => ({}) });
  app.get("/secret", { schema: { hide: true } }, () => ({}));
  addApiDocuments(app, { title: "Millrace", description: "Test", version: "1.2.3" });
  return app;
}

test("the document is OpenAPI 3.1 with the names of our schemas", async () => {
  const app = aDocumentedServer();

  const answer = await app.inject("/openapi.json");

  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  const document = answer.json<ApiDocument>();
  expect(document.openapi).toBe("3.1.0");
  expect(document.info).toMatchObject({ title: "Millrace", version: "1.2.3" });
  expect(Object.keys(document.components.schemas).toSorted()).toEqual([
    "HealthOutput",
    "Problem",
    "Thing",
  ]);
  expect(document.paths["/api/v1/{domain}/things"]?.["post"]).toMatchObject({
    summary: "Make a thing",
    requestBody: {
      content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
    },
    responses: {
      "200": {
        content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
      },
      default: {
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    },
  });
  expect(answer.body).toContain('"name":"pageSize"');
});

test("every route that is not hidden is in the document, and nothing else", async () => {
  const app = aDocumentedServer();

  const document = (await app.inject("/openapi.json")).json<ApiDocument>();

  const routes = app.routeList
    .filter(isDocumented)
    .map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, "{$1}")}`);
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(documented.toSorted()).toEqual(routes.toSorted());
  expect(documented).toContain("PATCH /api/v1/both");
  expect(documented).not.toContain("GET /secret");
});

test("requests are checked with the schema the document shows", async () => {
  const app = aDocumentedServer();
  const send = (payload: object) =>
    app.inject({ method: "POST", url: "/api/v1/core/things?PageSize=3", payload });

  const right = await send({ name: "a" });
  const wrong = await send({ size: "big" });

  expect(right.json()).toEqual({ name: "a" });
  expect(wrong.json()).toMatchObject({
    errors: { name: ["is required"], size: ["must be integer"] },
  });
});

test("the reference page and all it loads come from this server", async () => {
  const app = aDocumentedServer();

  const page = await app.inject("/docs");
  const slash = await app.inject("/docs/");

  expect(page.statusCode).toBe(200);
  expect(page.headers["content-type"]).toContain("text/html");
  expect(page.headers["x-app-version"]).toBe("1.2.3");
  expect(page.headers["content-security-policy"]).toContain("script-src 'self'");
  expect(page.body).not.toMatch(/(?:src|href)="https?:/);
  const base = new URL("http://x/docs");
  const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, path]) => new URL(path ?? "", base).pathname,
  );
  expect(assets.length).toBeGreaterThan(3);
  for (const asset of [...assets, "/docs/json"]) {
    const answer = await app.inject(asset);
    expect([asset, answer.statusCode, answer.rawPayload.length > 0]).toEqual([asset, 200, true]);
  }
  // No inline script: the policy would stop it.
  expect(page.body).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>/);
  expect(slash.statusCode).toBe(200);
});

test("a page under /docs that does not exist is a problem", async () => {
  const app = aDocumentedServer();

  const answer = await app.inject("/docs/static/nothing.js");

  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toMatchObject({ code: "Http:404001" });
});
