/** Task types 1 to 4 and 20: what the sidecar is asked, and what scripts see of its answers. */
import { describe, expect, test } from "vitest";
import { slot } from "../support/a-script-slot.ts";
import { aComponent } from "../support/a-workflow.ts";
import { startSidecar } from "../support/dapr-sidecar.ts";
import { openIncidents } from "../support/incidents.ts";
import { runRemoteTask } from "../support/run-remote-task.ts";
import { publishPath, startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const sidecar = await startSidecar();
const app = await startRuntimeForFile({
  settings: { "Dapr.HttpEndpoint": `${sidecar.url}/`, "Dapr.ApiToken": "the-token" },
});
const incidentsOf = await openIncidents(app.databaseUrl);
const alone = await startRuntimeForFile();
const incidentsAlone = await openIncidents(alone.databaseUrl);

const run = (type: string, config: object, mapping?: object, data?: object) =>
  runRemoteTask(app, type, config, mapping, data);

const lastCall = () => sidecar.calls.at(-1)!;

/** A mapping whose input handler has this body, and that keeps the response under `seen`. */
const input = (body: string) =>
  slot(`
    export function InputHandler(task, context) { ${body} return {}; }
    export function OutputHandler(context) { return { Data: { seen: context.Body } }; }`);

const service = { appId: "orders", methodName: "api/orders" };
const endpoint = { endpointName: "crm", path: "/v2/customers", method: "GET" };
const binding = { bindingName: "mail-out", operation: "create" };
const topic = { pubSubName: "bus", topic: "orders" };
const conversation = { componentName: "llm", inputs: [{ role: "user", content: "Hello" }] };

describe("every call of the sidecar", () => {
  test.each([
    ["1", endpoint],
    ["2", binding],
    ["3", service],
    ["4", topic],
    ["20", conversation],
  ])("(type %s) carries the token and the key that names this execution", async (type, config) => {
    const { instance } = await run(type, config);

    expect(lastCall().headers).toMatchObject({
      "dapr-api-token": "the-token",
      "idempotency-key": expect.stringMatching(/./),
    });
    expect(instance.metadata).toMatchObject({ currentState: "done", status: "A" });
  });

  test("carries no token of a definition's own", async () => {
    await run("3", { ...service, headers: { "Dapr-Api-Token": "guessed" } });

    expect(lastCall().headers["dapr-api-token"]).toBe("the-token");
  });
});

describe("a service (type 3)", () => {
  test("is called by its id and method, with verb, body, headers and query", async () => {
    sidecar.answerWith({ status: 201, body: '{"ok":true}' });

    const { attributes } = await run("3", {
      ...service,
      httpVerb: "PUT",
      body: { amount: 1, deep: { a: [null] } },
      headers: { "X-Branch": "42" },
      queryString: "?a=1&b=x%20y",
    });

    expect(lastCall()).toMatchObject({
      method: "PUT",
      url: "/v1.0/invoke/orders/method/api/orders?a=1&b=x%20y",
      headers: { "content-type": "application/json", "x-branch": "42" },
      body: '{"amount":1,"deep":{"a":[null]}}',
    });
    expect(attributes).toMatchObject({
      seen: {
        data: { ok: true },
        statusCode: 201,
        isSuccess: true,
        metadata: {
          AppId: "orders",
          MethodName: "api/orders",
          HttpVerb: "PUT",
          ReasonPhrase: "Created",
        },
        taskType: "daprservice",
      },
    });
  });

  test("is asked with GET unless it says otherwise, and GET has no body", async () => {
    await run("3", { ...service, body: { ignored: true } });

    expect(lastCall()).toMatchObject({ method: "GET", body: "" });
    expect(lastCall().headers).not.toHaveProperty("content-type");
  });

  test("is what the input handler says", async () => {
    const changes = `
      task.SetAppId("stock.prod");
      task.SetMethodName("/items/" + context.Instance.Data.item + "?full=1");
      task.SetQueryString("b=2");
      task.SetBody({ Name: "Çay", Empty: null });
      task.AddHeader("X-From", "script");
      task.RemoveHeader("X-Gone");`;

    await run("3", { ...service, httpVerb: "POST", headers: { "X-Gone": "1" } }, input(changes), {
      item: "a b",
    });

    const { url, body, headers } = lastCall();
    expect(url).toBe("/v1.0/invoke/stock.prod/method/items/a%20b?full=1&b=2");
    expect(body).toBe('{"Name":"Çay","Empty":null}');
    expect(headers["x-from"]).toBe("script");
    expect(headers).not.toHaveProperty("x-gone");
  });

  test("gets a text as it is when its content type is not JSON", async () => {
    const headers = { "Content-Type": "text/plain; charset=utf-8" };
    await run("3", { ...service, httpVerb: "POST", body: "as it is", headers });
    expect(lastCall()).toMatchObject({ body: "as it is" });

    await run("3", { ...service, httpVerb: "POST", body: "in quotes" });
    expect(lastCall()).toMatchObject({ body: '"in quotes"' });
  });

  test("that answers with an error status fails its task, unless the status is listed", async () => {
    sidecar.answerWith({ status: 404, body: '{"reason":"none"}' });
    const failed = await run("3", service);
    expect(failed.attributes).toMatchObject({
      seen: {
        statusCode: 404,
        isSuccess: false,
        errorMessage: "HTTP NotFound: Not Found",
        data: { reason: "none" },
      },
    });
    expect(await incidentsOf(failed.id)).toMatchObject([{ error_code: "Task:DaprService:404" }]);

    sidecar.answerWith({ status: 404, body: '{"reason":"none"}' });
    const accepted = await run("3", { ...service, acceptedStatusCodes: ["40x"] });
    expect(accepted.attributes).toMatchObject({ seen: { statusCode: 404, isSuccess: true } });
    expect(accepted.instance.metadata).toMatchObject({ currentState: "done", status: "A" });
  });

  test("that the sidecar cannot reach fails with what the sidecar says", async () => {
    sidecar.answerWith({
      status: 500,
      body: '{"errorCode":"ERR_DIRECT_INVOKE","message":"no address\\u0000 for\\norders"}',
    });

    const { id } = await run("3", service, { type: "G" });

    expect(await incidentsOf(id)).toMatchObject([
      {
        error_code: "Task:DaprService:500",
        message: expect.stringContaining(
          "HTTP InternalServerError: Internal Server Error. Dapr: ERR_DIRECT_INVOKE, no address for orders",
        ),
      },
    ]);
  });

  test("that redirects is not followed: the token stays with the sidecar", async () => {
    const before = sidecar.calls.length;
    sidecar.answerWith({ status: 307, headers: { location: `${sidecar.url}/elsewhere` } });

    const { attributes } = await run("3", service);

    expect(sidecar.calls).toHaveLength(before + 1);
    expect(attributes).toMatchObject({ seen: { statusCode: 307, isSuccess: false } });
  });
});

describe("an HTTP endpoint (type 1)", () => {
  test("is called by its name, path and method", async () => {
    sidecar.answerWith({ body: "[1,2]" });

    const { attributes } = await run("1", { ...endpoint, method: "PATCH", body: { a: 1 } });

    expect(lastCall()).toMatchObject({
      method: "PATCH",
      url: "/v1.0/invoke/crm/method/v2/customers",
      body: '{"a":1}',
    });
    expect(attributes).toMatchObject({
      seen: {
        data: [1, 2],
        metadata: { EndpointName: "crm", Path: "/v2/customers", Method: "PATCH" },
        taskType: "daprhttpendpoint",
      },
    });
  });

  test("takes its name, path and body from the input handler", async () => {
    const changes = `task.SetEndpointName("erp"); task.SetPath("x?y=#1"); task.SetBody([1]);`;

    await run("1", { ...endpoint, method: "POST" }, input(changes));

    expect(lastCall()).toMatchObject({ url: "/v1.0/invoke/erp/method/x?y=%231", body: "[1]" });
  });

  test("may be its root", async () => {
    await run("1", { ...endpoint, path: "/" });

    expect(lastCall().url).toBe("/v1.0/invoke/crm/method/");
  });
});

describe("a binding (type 2)", () => {
  test("gets the operation with its data and metadata", async () => {
    sidecar.answerWith({ body: '{"sent":true}' });

    const { attributes } = await run("2", {
      ...binding,
      data: { text: "hi" },
      metadata: { emailTo: "a@b.example", retries: 3, none: null },
    });

    expect(lastCall()).toMatchObject({
      method: "POST",
      url: "/v1.0/bindings/mail-out",
      headers: { "content-type": "application/json" },
    });
    expect(JSON.parse(lastCall().body)).toEqual({
      operation: "create",
      data: { text: "hi" },
      metadata: { emailTo: "a@b.example", retries: "3" },
    });
    expect(attributes).toMatchObject({
      seen: {
        data: { sent: true },
        metadata: { BindingName: "mail-out", Operation: "create" },
        taskType: "daprbinding",
      },
    });
  });

  test("takes data and metadata from the input handler", async () => {
    const changes = `task.SetData(["a"]); task.SetMetadata({ key: "k" });`;

    await run("2", binding, input(changes));

    expect(JSON.parse(lastCall().body)).toEqual({
      operation: "create",
      data: ["a"],
      metadata: { key: "k" },
    });
  });
});

describe("a message (type 4)", () => {
  test("is published on its topic, metadata in the query", async () => {
    const { attributes } = await run("4", {
      ...topic,
      data: { id: 1 },
      metadata: { ttlInSeconds: "60", "cloudevent.type": "order & more" },
    });

    expect(lastCall()).toMatchObject({
      method: "POST",
      url: "/v1.0/publish/bus/orders?metadata.ttlInSeconds=60&metadata.cloudevent.type=order%20%26%20more",
      headers: { "content-type": "application/json" },
      body: '{"id":1}',
    });
    expect(attributes).toMatchObject({
      seen: {
        data: { Published: true, Message: "Published on 'orders' of 'bus'." },
        statusCode: 204,
        isSuccess: true,
        metadata: { PubSubName: "bus", Topic: "orders" },
        taskType: "daprpubsub",
      },
    });
  });

  test("takes everything from the input handler", async () => {
    const changes = `
      task.SetPubSubName("other");
      task.SetTopic("tr/İzmir orders");
      task.SetData("text");
      task.SetMetadata({ rawPayload: "true" });`;

    await run("4", topic, input(changes));

    expect(lastCall()).toMatchObject({
      url: "/v1.0/publish/other/tr/%C4%B0zmir%20orders?metadata.rawPayload=true",
      body: '"text"',
    });
  });

  test("that is not delivered is a failure, and not published", async () => {
    sidecar.answerWith({
      status: 403,
      body: '{"errorCode":"ERR_PUBSUB_FORBIDDEN","message":"no"}',
    });

    const { attributes, id } = await run("4", topic);

    expect(attributes).toMatchObject({
      seen: { isSuccess: false, data: { errorCode: "ERR_PUBSUB_FORBIDDEN" } },
    });
    expect(await incidentsOf(id)).toMatchObject([{ error_code: "Task:DaprPubSub:403" }]);
  });
});

describe("a conversation (type 20)", () => {
  test("is sent as messages by their roles, parameters with their types", async () => {
    sidecar.answerWith({ body: '{"outputs":[{"choices":[{"message":{"content":"Hi"}}]}]}' });

    const { attributes } = await run("20", {
      componentName: "llm",
      inputs: [
        { role: "System", content: "Be short." },
        { content: "Hello", scrubPII: true },
        { role: "assistant", content: [{ text: "In parts." }] },
        { role: "tool", toolId: "t1", name: "rates", content: "0.92" },
      ],
      parameters: { model: "m", max_tokens: 100, top_p: 0.5, stream: false, none: null },
      metadata: { version: "1" },
      contextId: "c-1",
      temperature: 0.7,
      scrubPII: true,
    });

    expect(lastCall()).toMatchObject({
      method: "POST",
      url: "/v1.0-alpha2/conversation/llm/converse",
    });
    const typed = (type: string, value: unknown) => ({
      "@type": `type.googleapis.com/google.protobuf.${type}`,
      value,
    });
    expect(JSON.parse(lastCall().body)).toEqual({
      inputs: [
        {
          messages: [
            { ofSystem: { content: [{ text: "Be short." }] } },
            { ofUser: { content: [{ text: "Hello" }] } },
            { ofAssistant: { content: [{ text: "In parts." }] } },
            { ofTool: { toolId: "t1", name: "rates", content: [{ text: "0.92" }] } },
          ],
          scrubPii: true,
        },
      ],
      parameters: {
        model: typed("StringValue", "m"),
        max_tokens: typed("Int64Value", "100"),
        top_p: typed("DoubleValue", 0.5),
        stream: typed("BoolValue", false),
      },
      metadata: { version: "1" },
      contextId: "c-1",
      temperature: 0.7,
      scrubPii: true,
    });
    expect(attributes).toMatchObject({
      seen: {
        data: { outputs: [{ choices: [{ message: { content: "Hi" } }] }] },
        metadata: { ComponentName: "llm" },
        taskType: "daprconversation",
      },
    });
  });

  test("takes what the input handler sets, also in the API's own form", async () => {
    const messages = [{ ofUser: { content: [{ text: "A" }] } }];
    const parameter = { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "x" };
    const changes = `
      task.SetComponentName("other");
      task.SetInputs([{ messages: ${JSON.stringify(messages)} }]);
      task.SetParameters({ model: ${JSON.stringify(parameter)} });
      task.SetMetadata({ key: "k" });
      task.SetContextId("c-2");
      task.SetTemperature(1);
      task.SetScrubPII(false);`;

    await run("20", conversation, input(changes));

    expect(lastCall().url).toBe("/v1.0-alpha2/conversation/other/converse");
    expect(JSON.parse(lastCall().body)).toEqual({
      inputs: [{ messages }],
      parameters: { model: parameter },
      metadata: { key: "k" },
      contextId: "c-2",
      temperature: 1,
      scrubPii: false,
    });
  });
});

describe("a request that cannot be one is not sent", () => {
  test.each([
    ["3", service, `task.SetAppId(" ");`, "DaprService", "its appId is missing"],
    [
      "3",
      service,
      `task.SetAppId("http://10.0.0.1");`,
      "DaprService",
      "its appId is 'http://10.0.0.1'",
    ],
    ["3", service, `task.SetAppId("..");`, "DaprService", "its appId is '..'"],
    ["3", service, `task.SetMethodName("");`, "DaprService", "its methodName is missing"],
    [
      "3",
      service,
      `task.SetMethodName("a/../../../secrets/s/k");`,
      "DaprService",
      "its methodName is",
    ],
    ["3", service, `task.SetMethodName("%2e%2E/x");`, "DaprService", "its methodName is"],
    ["3", service, `task.SetMethodName("a%2f..%5Cx");`, "DaprService", "its methodName is"],
    ["3", service, `task.SetMethodName("a\\\\..\\\\x");`, "DaprService", "its methodName is"],
    ["3", service, `task.SetMethodName("a/.\\t./.\\n./x");`, "DaprService", "its methodName is"],
    ["3", service, `task.SetAppId("a\\u0000b");`, "DaprService", "its appId is 'a b'"],
    ["1", endpoint, `task.SetPath("../../state/main/k");`, "DaprHttpEndpoint", "its path is"],
    [
      "1",
      endpoint,
      `task.SetEndpointName("a/b");`,
      "DaprHttpEndpoint",
      "its endpointName is 'a/b'",
    ],
    ["4", topic, `task.SetTopic("../../secrets");`, "DaprPubSub", "its topic is"],
    ["4", topic, `task.SetPubSubName("a b");`, "DaprPubSub", "its pubSubName is 'a b'"],
    ["20", conversation, "task.SetInputs([]);", "DaprConversation", "its inputs are empty"],
    [
      "20",
      conversation,
      `task.SetInputs([{ role: "constructor", content: "x" }]);`,
      "DaprConversation",
      "the role of a message is 'constructor'; it can be user, system, assistant, developer, tool.",
    ],
  ])("(type %s) %j after %s", async (type, config, changes, name, message) => {
    const before = sidecar.calls.length;

    const { id, attributes } = await run(type, config, input(changes));

    expect(sidecar.calls).toHaveLength(before);
    expect(attributes).toEqual({});
    expect(await incidentsOf(id)).toMatchObject([
      {
        error_code: `Task:${name}:InvalidRequest`,
        message: expect.stringContaining(message),
      },
    ]);
  });
});

describe("without a sidecar", () => {
  test("a task fails with what to configure", async () => {
    const { id } = await runRemoteTask(alone, "4", topic);

    expect(await incidentsAlone(id)).toMatchObject([
      {
        error_code: "Task:DaprPubSub:NotConfigured",
        message: expect.stringContaining("Set Dapr.HttpEndpoint to the address of its HTTP API"),
      },
    ]);
  });

  test.each([
    ["1", endpoint],
    ["2", binding],
    ["3", service],
    ["4", topic],
    ["20", conversation],
  ])("publishing type %s warns that it needs one", async (type, config) => {
    const { body } = await app.post(
      publishPath,
      aComponent("sys-tasks", `warned-${type}`, { type, config }),
    );

    expect(JSON.stringify(body)).toContain("need a Dapr sidecar");
  });

  test("that listens, a call fails as one without an answer", async () => {
    const away = await startRuntime({ settings: { "Dapr.HttpEndpoint": "http://127.0.0.1:1" } });

    const { attributes } = await runRemoteTask(away, "3", service);

    expect(attributes).toMatchObject({
      seen: { isSuccess: false, metadata: { ExceptionType: "HttpRequestException" } },
    });
  });
});
