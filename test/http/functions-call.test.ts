import { describe, expect, test } from "vitest";
import { allow, aFunction, deny, functionRef, functionTask } from "../support/a-function.ts";
import { aScriptTask, handler, output, slot, taskWith } from "../support/a-script-slot.ts";
import { aWebServer } from "../support/a-web-server.ts";
import { aComponent, aSchema, aWorkflow, expression } from "../support/a-workflow.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { publishPath, startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ settings: { "Egress.Allow": ["loopback"] } });
await app.publish(functionTask, aScriptTask("first"), aScriptTask("second"), aScriptTask("third"));

const path = "/api/v1/core/functions";
const seen =
  "return { Data: { body: context.Body, query: context.QueryParameters, route: context.RouteValues, role: context.Headers['role'] ?? null } };";

describe("a function of a domain", () => {
  test("answers under its own name, with what its task makes of the request", async () => {
    await app.publish(aFunction("echo-it", seen));

    const answer = await app.post(
      `${path}/echo-it?Page=2&tag=a&tag=b`,
      { amount: 1.5 },
      { role: "x" },
    );

    expect(answer).toMatchObject({
      status: 200,
      body: {
        echoIt: {
          body: { amount: 1.5 },
          query: { Page: "2", tag: ["a", "b"] },
          route: { domain: "core", function: "echo-it" },
          role: "x",
        },
      },
    });
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  });

  test.each([
    ["GET", undefined, undefined, {}],
    ["POST", undefined, undefined, {}],
    ["DELETE", undefined, undefined, {}],
    [
      "PATCH",
      '{"attributes":{"a":1},"key":"k"}',
      "application/json",
      { attributes: { a: 1 }, key: "k" },
    ],
    ["DELETE", "[1,2]", "application/json", [1, 2]],
    ["POST", "null", "application/json", null],
    [
      "POST",
      "a[b]=1&a[c]=x&l[]=1&l[]=2",
      "application/x-www-form-urlencoded",
      { a: { b: 1, c: "x" }, l: [1, 2] },
    ],
    ["POST", "key=7&stage=x", "application/x-www-form-urlencoded", { key: 7, stage: "x" }],
  ] as const)("takes %s with the body %j (%s) as it is", async (method, body, type, expected) => {
    const key = `takes-${method.toLowerCase()}-${String(body).length}-${String(type).length}`;
    await app.publish(aFunction(key, "return { Data: { body: context.Body } };"));

    const answer = await app.send(
      method,
      `${path}/${key}`,
      body,
      type === undefined ? {} : { "content-type": type },
    );

    expect(Object.values(answer.body as object)).toEqual([{ body: expected }]);
  });

  test("shows its scripts the caller's headers without credentials", async () => {
    await app.publish(
      aFunction(
        "headers-seen",
        "return { Data: [context.Headers['authorization'], context.Headers['x-mine']] };",
      ),
    );

    const answer = await app.get(`${path}/headers-seen`, {
      authorization: "Bearer abcdef",
      "x-mine": "m",
    });

    expect(answer.body).toEqual({ headersSeen: ["***", "m"] });
  });

  test("answers HEAD like GET, without the body", async () => {
    await app.publish(aFunction("headed", "return { Data: 1 };", { verbs: ["GET"] }));
    const get = await app.get(`${path}/headed`);

    const head = await app.send("HEAD", `${path}/headed`);

    expect(head).toMatchObject({ status: 200, text: "" });
    expect(head.headers["etag"]).toBe(get.headers["etag"]);
  });

  test("refuses a form that is ambiguous, and a content type it does not read", async () => {
    await app.publish(aFunction("strict-form", seen));
    const post = (body: string, type: string) =>
      app.post(`${path}/strict-form`, body, { "content-type": type });

    expect(codeOf(await post("a[]b=1", "application/x-www-form-urlencoded"))).toBe(
      "400 validation.ModelValidation:Failed",
    );
    expect((await post("x", "multipart/form-data; boundary=y")).status).toBe(415);
  });

  test("is the latest unless a version is asked for, in any letter case", async () => {
    await app.publish(
      aFunction("aged", "return { Data: 1 };", {}, { version: "1.0.0" }),
      aFunction("aged", "return { Data: 2 };", {}, { version: "2.0.0" }),
    );
    const version = async (query: string) => (await app.get(`${path}/aged${query}`)).body;

    expect(await version("")).toEqual({ aged: 2 });
    expect(await version("?version=1")).toEqual({ aged: 1 });
    expect(await version("?VERSION=1.0.0")).toEqual({ aged: 1 });
    expect(codeOf(await app.get(`${path}/aged?version=3`))).toBe("404 notfound.Cache:300001");
    expect(codeOf(await app.get(`${path}/nobody`))).toBe("404 notfound.Cache:300001");
  });

  test("answers the verbs it lists; others are 405 with those", async () => {
    await app.publish(aFunction("posted", seen, { verbs: ["POST", "PATCH"] }));

    const refused = await app.get(`${path}/posted`);

    expect(refused).toMatchObject({
      status: 405,
      headers: { allow: "POST, PATCH" },
      body: { type: "Function:800003", title: "Method Not Allowed", status: 405 },
    });
    expect((await app.patch(`${path}/posted`)).status).toBe(200);
    const put = await app.send("PUT", `${path}/posted`, {});
    expect(put).toMatchObject({
      status: 405,
      headers: { allow: "DELETE, GET, HEAD, PATCH, POST" },
    });
  });

  test("keeps out who lacks its roles, before anything else is looked at", async () => {
    await app.publish(
      aFunction("guarded", seen, { roles: [allow("officer"), deny("trainee")], verbs: ["POST"] }),
    );
    const call = async (headers: Record<string, string>, query = "") =>
      codeOf(await app.get(`${path}/guarded${query}`, headers));

    expect(await call({})).toBe("403 forbidden.Authorization:110001");
    expect(await call({ role: "customer" })).toBe("403 forbidden.Authorization:110001");
    expect(await call({ role: "officer,trainee" })).toBe("403 forbidden.Authorization:110001");
    expect(await call({ role: "Officer" })).toBe("405");
    expect(await call({}, "?Role=officer")).toBe("405");
    expect(await call({ role: "customer" }, "?Role=officer")).toBe(
      "403 forbidden.Authorization:110001",
    );
  });

  test("leaves roles to a gateway when told so", async () => {
    const open = await startRuntime({ settings: { "Authorization.EnforceFunctionRoles": false } });
    await open.publish(functionTask, aFunction("open", seen, { roles: [allow("officer")] }));

    expect((await open.get(`${path}/open`)).status).toBe(200);
    expect((await open.get(`${path}/open/info`)).status).toBe(200);
  });

  test("checks a body against its schema, and nothing when there is none", async () => {
    const schema = (key: string) => ({
      key,
      domain: "core",
      flow: "sys-schemas",
      version: "latest",
    });
    await app.publish(
      aSchema("search", {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string" } },
      }),
      aSchema("any-search", { type: "object", required: ["any"] }),
      aFunction("search-it", seen, { inputSchema: schema("search") }),
      aFunction("search-by-rule", seen, {
        inputSchema: [
          { rule: expression('context.Headers["x-kind"] == "any"'), schema: schema("any-search") },
          { schema: schema("search") },
        ],
      }),
      aFunction("search-by-body", seen, {
        inputSchema: [
          { rule: expression('context.Body.kind == "any"'), schema: schema("any-search") },
        ],
      }),
    );

    const refused = await app.post(`${path}/search-it`, { name: 1 });

    expect(refused).toMatchObject({
      status: 400,
      body: { error: { target: "search-it", validationErrors: [{ members: ["name"] }] } },
    });
    expect((await app.post(`${path}/search-it`)).status).toBe(200);
    expect((await app.post(`${path}/search-it`, { name: "n" })).status).toBe(200);
    expect(
      (await app.post(`${path}/search-by-rule`, { name: "n" }, { "x-kind": "any" })).status,
    ).toBe(400);
    expect((await app.post(`${path}/search-by-rule`, { name: "n" })).status).toBe(200);
    expect((await app.post(`${path}/search-by-body`, { kind: "any" })).status).toBe(400);
    expect((await app.post(`${path}/search-by-body`, { kind: "some" })).status).toBe(200);
  });
});

describe("the answer of a function", () => {
  test("is the data themselves with rawResponse, with status, headers and content type by the task's script", async () => {
    await app.publish(
      aFunction(
        "raw-it",
        `return { Data: { id: 1 }, StatusCode: 201, Headers: { "Content-Type": "application/vnd.x+json", "X-Mine": "yes", Connection: "close" } };`,
        { rawResponse: true },
      ),
      aFunction("raw-text", "return { Data: 'a;b', Headers: { 'content-type': 'text/csv' } };", {
        rawResponse: true,
      }),
      aFunction("raw-nothing", "return { Data: null, StatusCode: 204 };", { rawResponse: true }),
      aFunction("raw-inner", "return { Data: { data: [1], other: 2 } };", { rawResponse: true }),
      aFunction(
        "wrapped",
        "return { Data: { id: 1 }, StatusCode: 201, Headers: { 'x-mine': 'yes' } };",
      ),
    );

    const raw = await app.post(`${path}/raw-it`);
    const wrapped = await app.post(`${path}/wrapped`);

    expect(raw).toMatchObject({ status: 201, text: '{"id":1}' });
    expect(raw.headers).toMatchObject({
      "content-type": "application/vnd.x+json",
      "x-mine": "yes",
    });
    expect(raw.headers["connection"]).not.toBe("close");
    expect(await app.get(`${path}/raw-text`)).toMatchObject({
      text: "a;b",
      headers: { "content-type": "text/csv" },
    });
    expect(await app.post(`${path}/raw-nothing`)).toMatchObject({ status: 204, text: "" });
    expect(await app.get(`${path}/raw-inner`)).toMatchObject({
      text: "[1]",
      headers: { "content-type": "application/json" },
    });
    expect(wrapped).toMatchObject({ status: 200, body: { wrapped: { id: 1 } } });
    expect(wrapped.headers).not.toHaveProperty("x-mine");
  });

  test("is the output script's when there is one, which sees what each task answered", async () => {
    const tasks = [
      taskWith("first", output("return { Data: { a: context.Body.start } };"), 1),
      taskWith("second", output("return { Data: { b: context.OutputResponse.first.a + 1 } };"), 2),
      taskWith("third", output("return { Data: { c: context.OutputResponse.first.a + 2 } };"), 2),
    ];
    await app.publish(
      aComponent("sys-functions", "many", {
        scope: "D",
        onExecutionTasks: tasks,
        rawResponse: true,
        output: output(
          "const { first, second, third } = context.OutputResponse; return { Data: { sum: first.a + second.b + third.c, task: context.TaskResponse.third.data.c }, StatusCode: 202 };",
        ),
      }),
      aComponent("sys-functions", "many-plain", { scope: "D", onExecutionTasks: tasks }),
    );

    expect(await app.post(`${path}/many`, { start: 1 })).toMatchObject({
      status: 202,
      body: { sum: 6, task: 3 },
    });
    expect((await app.post(`${path}/many-plain`, { start: 1 })).body).toEqual({
      manyPlain: { first: { a: 1 }, second: { b: 2 }, third: { c: 3 } },
    });
  });

  test("takes status and headers of its only task, an HTTP call, as they came", async () => {
    const server = await aWebServer((_asked, _request, response) => {
      response.writeHead(203, {
        "content-type": "application/json",
        "x-backend": "b",
        "content-encoding": "identity",
        // Not this server's to say to the browsers of ours.
        "set-cookie": "sid=evil",
        "access-control-allow-origin": "*",
        "access-control-allow-credentials": "true",
        "x-frame-options": "ALLOWALL",
        "x-request-id": "forged",
      });
      response.end('{"rate":1.10}');
    });
    await app.publish(
      aComponent("sys-tasks", "ask-backend", {
        type: "6",
        config: { url: server.url, method: "GET" },
      }),
      aComponent("sys-functions", "proxy", {
        scope: "D",
        task: taskWith("ask-backend", { type: "G" }),
        rawResponse: true,
      }),
    );

    const answer = await app.get(`${path}/proxy`, { "x-request-id": "mine" });

    expect(answer).toMatchObject({ status: 203, text: '{"rate":1.10}' });
    expect(answer.headers).toMatchObject({
      "x-backend": "b",
      "content-type": "application/json",
      "x-frame-options": "SAMEORIGIN",
      "x-request-id": "mine",
    });
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  test("is 500 with the code of what failed", async () => {
    await app.publish(
      aFunction("broken", "throw new Error('no such customer');"),
      aFunction("bad-output", "return {};", {
        output: output("throw new Error('cannot shape it');"),
      }),
      aFunction("bad-header", "return { Data: 1, Headers: { 'bad name': 'x' } };", {
        rawResponse: true,
      }),
      aComponent("sys-functions", "unknown-task", {
        scope: "D",
        task: taskWith("not-published", { type: "G" }),
      }),
      aComponent("sys-tasks", "ask-nobody", {
        type: "6",
        config: { url: "http://127.0.0.1:1/", method: "GET" },
      }),
      aComponent("sys-functions", "unreachable", {
        scope: "D",
        task: taskWith("ask-nobody", { type: "G" }),
      }),
    );

    const broken = await app.get(`${path}/broken`);

    expect(codeOf(broken)).toMatch(/^500 failure\.Task:/);
    expect(broken.body).toMatchObject({
      target: "broken",
      detail: expect.stringContaining("no such customer") as string,
    });
    expect(codeOf(await app.get(`${path}/bad-output`))).toBe("500 failure.Extension:600001");
    expect(codeOf(await app.get(`${path}/bad-header`))).toBe("500 failure.Extension:600001");
    expect(codeOf(await app.get(`${path}/unknown-task`))).toBe(
      "500 failure.Task:Unknown:not-published",
    );
    expect(codeOf(await app.get(`${path}/unreachable`))).toBe("500 failure.Task:Http:Exception");
  });

  test("has an ETag by GET, of its body, and is 304 for who knows it", async () => {
    await app.publish(
      aFunction("tagged", "return { Data: context.QueryParameters.n };", { rawResponse: true }),
    );
    const first = await app.get(`${path}/tagged?n=1`);
    const known = { "if-none-match": first.headers["etag"] ?? "" };

    expect(await app.get(`${path}/tagged?n=1`, known)).toMatchObject({ status: 304, text: "" });
    expect((await app.get(`${path}/tagged?n=2`, known)).status).toBe(200);
    expect((await app.post(`${path}/tagged?n=1`, undefined, known)).status).toBe(200);
    expect((await app.post(`${path}/tagged?n=1`)).headers).not.toHaveProperty("etag");
  });
});

describe("a function on an instance", async () => {
  await app.publish(
    aFunction("of-domain", "return { Data: context.Instance.Data.amount };"),
    aFunction(
      "of-instance",
      "return { Data: [context.Instance.CurrentState, context.Workflow.Key, context.RouteValues.instance] };",
      { scope: "I" },
    ),
    aFunction("of-flow", "return { Data: 1 };", { scope: "F" }, { version: "1.0.0" }),
    aFunction("of-flow", "return { Data: 2 };", { scope: "F" }, { version: "2.0.0" }),
    aFunction("of-other-flow", "return { Data: 1 };", { scope: "F" }),
    aFunction("for-starter", "return { Data: 1 };", {
      scope: "I",
      roles: [allow("$InstanceStarter")],
    }),
    aFunction("state", "return { Data: 'mine' };"),
    aWorkflow("acts")
      .state("here")
      .with({ functions: [functionRef("of-flow", "1.0.0")] }),
  );
  const flows = instancesOf(app, "acts");
  const id = await flows.begin(
    { attributes: { amount: 5 }, key: "K-1" },
    { headers: { act_sub: "ann" } },
  );
  const on = (name: string, headers = {}) =>
    app.get(`${flows.path}/K-1/functions/${name}`, headers);

  test("sees the instance; flow functions are those that the workflow lists, in the version it lists", async () => {
    expect((await on("of-domain")).body).toEqual({ ofDomain: 5 });
    expect((await on("of-instance")).body).toEqual({ ofInstance: ["here", "acts", "K-1"] });
    expect((await on("of-flow")).body).toEqual({ ofFlow: 1 });
    expect((await on("of-flow?version=2.0.0")).body).toEqual({ ofFlow: 1 });
  });

  test("is 403 out of its scope, here and in the domain", async () => {
    expect(codeOf(await on("of-other-flow"))).toBe("403 forbidden.Function:800002");
    expect(codeOf(await app.get(`${path}/of-flow`))).toBe("403 forbidden.Function:800002");
    expect(codeOf(await app.get(`${path}/of-instance`))).toBe("403 forbidden.Function:800002");
  });

  test("may be for people whom the instance knows", async () => {
    expect((await on("for-starter", { act_sub: "ann" })).status).toBe(200);
    expect(codeOf(await on("for-starter", { act_sub: "bob" }))).toBe(
      "403 forbidden.Authorization:110001",
    );
  });

  test("is 404 for an unknown instance before the function is looked for", async () => {
    expect(codeOf(await app.get(`${flows.path}/none/functions/whatever`))).toBe(
      "404 notfound.Instance:100013",
    );
    expect(codeOf(await on("whatever"))).toBe("404 notfound.Cache:300001");
  });

  test("cannot take the name of a built-in one", async () => {
    expect((await on("state")).body).toMatchObject({ state: "here" });
    expect((await app.get(`${path}/state`)).body).toEqual({ state: "mine" });
  });

  test("writes nothing to the instance", async () => {
    const before = await flows.read(id);

    await on("of-domain");

    expect(await flows.read(id)).toEqual(before);
  });
});

describe("the cache of a function", () => {
  let counter = 0;
  const counting = async (attributes: object) => {
    let calls = 0;
    const server = await aWebServer((_asked, _request, response) => {
      calls += 1;
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ calls }));
    });
    const key = `cached-${(counter += 1)}`;
    await app.publish(
      aComponent("sys-tasks", key, { type: "6", config: { url: server.url, method: "GET" } }),
      aComponent("sys-functions", key, {
        scope: "D",
        task: taskWith(key, { type: "G" }),
        rawResponse: true,
        ...attributes,
      }),
    );
    return {
      key,
      get: async (query = "", headers = {}) =>
        (await app.get(`${path}/${key}${query}`, headers)).body,
    };
  };

  test("keeps an answer by the author's key, the verb and the headers it varies by", async () => {
    const { key, get } = await counting({
      cache: {
        keyExpression: expression("context.QueryParameters.city"),
        ttlInSeconds: 600,
        varyByHeaders: ["X-Tenant"],
        varyByHeaderPrefixes: ["x-flag-"],
      },
    });

    expect(await get("?city=a&x=1")).toEqual({ calls: 1 });
    expect(await get("?city=a&x=2")).toEqual({ calls: 1 });
    expect(await get("?city=b")).toEqual({ calls: 2 });
    expect(await get("?city=a", { "x-tenant": "t" })).toEqual({ calls: 3 });
    expect(await get("?city=a", { "x-flag-new": "1" })).toEqual({ calls: 4 });
    expect((await app.post(`${path}/${key}?city=a`)).body).toEqual({ calls: 5 });
    expect(await get("?city=a", { "x-tenant": "t" })).toEqual({ calls: 3 });
  });

  test("is forgotten as a whole when its generation changes", async () => {
    await app.publish(
      aComponent("sys-tasks", "bump", {
        type: "17",
        config: { command: "set", key: "cities-generation", value: 1 },
      }),
      aComponent("sys-functions", "bump-it", {
        scope: "D",
        task: taskWith(
          "bump",
          slot(
            "export function InputHandler(task, context) { task.SetValue(context.QueryParameters.to); return {}; } export function OutputHandler() { return {}; }",
          ),
        ),
      }),
    );
    const { get } = await counting({ cache: { key: "all", generationKey: "cities-generation" } });

    expect([await get(), await get()]).toEqual([{ calls: 1 }, { calls: 1 }]);
    expect((await app.post(`${path}/bump-it?to=2`)).status).toBe(200);
    expect([await get(), await get()]).toEqual([{ calls: 2 }, { calls: 2 }]);
  });

  test("has keys that are compiled at publish", async () => {
    const cache = { key: "k", generationKeyExpression: slot("export function Handler( {") };
    const answer = await app.post(publishPath, aFunction("cached-badly", "return {};", { cache }));

    expect(answer.status).toBe(400);
    expect(Object.keys((answer.body as { errors: object }).errors)).toEqual([
      "attributes.cache.generationKeyExpression.code",
    ]);
  });

  test("a key that is nothing keeps nothing", async () => {
    const { get } = await counting({ cache: { key: handler("return null;") } });

    expect([await get(), await get()]).toEqual([{ calls: 1 }, { calls: 2 }]);
  });

  test("that cannot be reached is passed by, unless the function says otherwise", async () => {
    const lenient = await counting({ cache: { key: "k", storeName: "nowhere" } });
    const strict = await counting({
      cache: { key: "k", storeName: "nowhere", bypassOnCacheError: false },
    });

    expect([await lenient.get(), await lenient.get()]).toEqual([{ calls: 1 }, { calls: 2 }]);
    expect(codeOf(await app.get(`${path}/${strict.key}`))).toBe("500 failure.Extension:600001");
  });
});
