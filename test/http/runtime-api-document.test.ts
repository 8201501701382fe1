import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, onTestFinished, test } from "vitest";
import { StorageUnavailable } from "../../src/engine/storage-unavailable.ts";
import { isDocumented, type ApiDocument } from "../../src/http/api-document.ts";
import { createRuntimeServer } from "../../src/http/runtime-server.ts";
import { createLog } from "../../src/log.ts";
import { readComponentSchemas } from "../../src/runtime/component-schemas.ts";
import { aWorkflow, hook } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntime } from "../support/start-runtime.ts";

/** All routes of the surface, without a database behind them. */
function aRuntimeServer() {
  const app = createRuntimeServer({
    server: { appVersion: "1.2.3", log: createLog({ level: "silent" }) },
    runtime: () => {
      throw new StorageUnavailable("not started");
    },
    domain: "",
    requireFlowVersion: true,
    schemas: readComponentSchemas(),
    live: { maxWaiters: 1, heartbeatMs: 15_000, longestMs: 60_000 },
  });
  onTestFinished(() => app.close());
  return app;
}

interface Operation {
  summary?: string;
  tags?: string[];
}

test("the document has every route of the runtime API, and nothing else", async () => {
  const app = aRuntimeServer();

  const { paths } = (await app.inject("/openapi.json")).json<ApiDocument>();

  const routes = app.routeList
    .filter(isDocumented)
    .map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, "{$1}")}`);
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(documented.toSorted()).toEqual(routes.toSorted());
  expect(documented).toEqual(
    expect.arrayContaining([
      "POST /api/v1/definitions/publish",
      "GET /api/v1/{domain}/workflows/{workflow}/instances",
      "GET /api/v1/{domain}/workflows/{workflow}/instances/{instance}",
    ]),
  );
});

test("every operation of the API says what it does", async () => {
  const app = aRuntimeServer();

  const { paths } = (await app.inject("/openapi.json")).json<ApiDocument>();

  const silent = Object.entries(paths)
    .filter(([path]) => path.startsWith("/api/"))
    .flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, Operation>)
        .filter(([, { summary, tags }]) => summary === undefined || tags === undefined)
        .map(([method]) => `${method} ${path}`),
    );
  expect(silent).toEqual([]);
});

test("where forms are taken the document names them, and no body is required", async () => {
  const app = aRuntimeServer();

  const { paths } = (await app.inject("/openapi.json")).json<ApiDocument>();

  const instances = "/api/v1/{domain}/workflows/{workflow}/instances";
  for (const [path, method] of [
    [`${instances}/start`, "post"],
    [`${instances}/{instance}/transitions/{transitionKey}`, "patch"],
    [`${instances}/{instance}/functions/{function}`, "post"],
  ] as const) {
    expect(paths[path]?.[method]).toMatchObject({
      requestBody: {
        required: false,
        content: { "application/json": {}, "application/x-www-form-urlencoded": {} },
      },
    });
  }
  expect(paths["/api/v1/definitions/publish"]?.["post"]).toMatchObject({
    requestBody: { required: true },
  });
});

test("a history looks as the document says", async () => {
  const app = await startRuntime();
  await app.publish(
    aWorkflow("loan")
      .state("draft")
      .transition("fail", { to: "draft", onExecutionTasks: hook("missing") }),
  );
  const loans = instancesOf(app, "loan");
  const id = await loans.begin({ stage: "S" }, { headers: { act_sub: "agent" } });
  await loans.send(id, "fail", { a: 1 });
  const document = (await app.get("/openapi.json")).body as ApiDocument;
  const path =
    "/paths/~1api~1v1~1{domain}~1workflows~1{workflow}~1instances~1{instance}~1transitions";
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: "api", ...document });
  const schema = `${path}/get/responses/200/content/application~1json/schema`;
  const validate = ajv.compile({ $ref: encodeURI(`api#${schema}`) });

  const { body } = await app.get(`${loans.path}/${id}/transitions`);

  expect(body).toMatchObject({ transitions: [{ stage: "S" }, { effectiveState: null }] });
  expect(validate(body) ? [] : validate.errors).toEqual([]);
});

test("instances look as the document says", async () => {
  const app = await startRuntime();
  await app.publish(aWorkflow("loan").state("draft"));
  const document = (await app.get("/openapi.json")).body as ApiDocument;
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: "api", ...document });
  const validate = ajv.compile({ $ref: "api#/components/schemas/GetInstanceOutput" });
  const path = "/api/v1/core/workflows/sys-flows/instances";

  const one = (await app.get(`${path}/loan`)).body;
  const { items } = (await app.get(path)).body as { items: unknown[] };

  for (const output of [one, ...items]) {
    expect(validate(output) ? [] : validate.errors).toEqual([]);
  }
});
