/** Task types 6 and 22: what the called server gets, and what scripts and data see of its answer. */
import { describe, expect, test } from "vitest";
import { output, slot, taskWith } from "../support/a-script-slot.ts";
import { aCertificate } from "../support/a-certificate.ts";
import { aWebServer, aWebServerForFile, type Asked } from "../support/a-web-server.ts";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf, type Sent } from "../support/instances-of.ts";
import { publishPath, startRuntimeForFile, type TestRuntime } from "../support/start-runtime.ts";

const settings = { "Egress.Allow": ["127.0.0.1"], "Egress.AnswerLimitBytes": 100_000 };
const app = await startRuntimeForFile({ settings });
/** Only calls that are to run out of time have little of it. */
const impatient = await startRuntimeForFile({
  databaseUrl: app.databaseUrl,
  settings: { ...settings, "ExecutionApi.InvocationTimeoutSeconds": 2 },
});

/** `/status/404`, `/silent`, `/large`; everything else is echoed. */
const server = await aWebServerForFile((asked, _request, response) => {
  const [, kind, value] = asked.url.split("/");
  if (kind === "silent") return;
  if (kind === "status") {
    response.writeHead(Number(value), { "content-type": "application/json" });
    response.end('{"reason":"because"}');
  } else if (kind === "large") response.end("x".repeat(200_000));
  else {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method: asked.method, body: asked.body }));
  }
});

let made = 0;

interface Given {
  config: object;
  type?: string;
  /** Statements of the input handler. */
  input?: string;
  sent?: Sent;
  /** Which node runs it. */
  node?: TestRuntime;
}

/** Runs one HTTP task. What the output handler sees is kept under `seen`. */
async function run({ config, type = "6", input = "", sent, node = app }: Given) {
  made += 1;
  const key = `http-${made}`;
  await app.publish(aComponent("sys-tasks", key, { type, config }));
  const mapping = slot(`
    export function InputHandler(task, context) { ${input} return {}; }
    export function OutputHandler(context) {
      return { Data: { seen: context.TaskResponse["http${made}"], body: context.Body } };
    }`);
  const flow = await publishWith(`flow-${key}`, taskWith(key, mapping));
  const from = server.asked.length;
  const id = await flow.begin({});
  const answer = await instancesOf(node, `flow-${key}`).send(id, "go", {}, sent);
  const { attributes = {}, metadata } = await flow.read(id);
  return {
    answer,
    asked: server.asked.slice(from)[0],
    attributes,
    seen: (attributes["seen"] ?? {}) as Record<string, unknown>,
    status: metadata.status,
  };
}

async function publishWith(key: string, ...onExecutionTasks: object[]) {
  await app.publish(
    aWorkflow(key).state("open").transition("go", { to: "done", onExecutionTasks }).state("done"),
  );
  return instancesOf(app, key);
}

const requestIn = ({ method, body, headers }: Asked) => ({
  method,
  body,
  contentType: headers["content-type"],
});

describe("the request", () => {
  test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])(
    "has the method %s",
    async (method) => {
      const { asked } = await run({ config: { url: `${server.url}/m`, method } });

      expect(asked).toMatchObject({ method, url: "/m" });
    },
  );

  test("is a GET unless it says otherwise", async () => {
    const { asked } = await run({ config: { url: server.url } });

    expect(asked).toMatchObject({ method: "GET" });
  });

  test.each([
    [
      "an object as JSON",
      { body: { name: "Ali", list: [1, 2] } },
      { body: '{"name":"Ali","list":[1,2]}', contentType: "application/json; charset=utf-8" },
    ],
    [
      "JSON under another JSON type",
      { body: { a: 1 }, contentType: "application/vnd.api+json" },
      { body: '{"a":1}', contentType: "application/vnd.api+json" },
    ],
    [
      "a text that is announced as JSON as a JSON text",
      { body: "hello" },
      { body: '"hello"', contentType: "application/json; charset=utf-8" },
    ],
    [
      "a text of another type as it is",
      { body: "hello, wörld", contentType: "text/plain" },
      { body: "hello, wörld", contentType: "text/plain" },
    ],
    [
      "an object as a form",
      {
        body: { name: "Ali Ö", tags: ["a", "b"], at: { city: "X&Y" }, none: null, yes: true },
        contentType: "application/x-www-form-urlencoded",
      },
      {
        body: "name=Ali+%C3%96&tags%5B%5D=a&tags%5B%5D=b&at%5Bcity%5D=X%26Y&none=&yes=true",
        contentType: "application/x-www-form-urlencoded",
      },
    ],
    [
      "a raw body byte for byte, before any other",
      { body: { a: 1 }, rawBody: '{ "a" : 2 }' },
      { body: '{ "a" : 2 }', contentType: "application/json; charset=utf-8" },
    ],
    [
      "an empty raw body as an empty one",
      { body: { a: 1 }, rawBody: "" },
      { body: "", contentType: "application/json; charset=utf-8" },
    ],
    [
      "the header's content type",
      { rawBody: "<a/>", headers: { "content-TYPE": "application/xml" } },
      { body: "<a/>", contentType: "application/xml" },
    ],
    [
      "contentType before the header's",
      { rawBody: "<a/>", contentType: "text/xml", headers: { "Content-Type": "x/y" } },
      { body: "<a/>", contentType: "text/xml" },
    ],
    ["no body when there is none", {}, { body: "", contentType: undefined }],
  ])("of a POST has %s", async (_, config, expected) => {
    const { asked } = await run({ config: { url: server.url, method: "POST", ...config } });

    expect(requestIn(asked!)).toEqual({ method: "POST", ...expected });
  });

  test.each(["GET", "HEAD"])("of a %s has no body", async (method) => {
    const { asked } = await run({
      config: { url: server.url, method, body: { a: 1 }, contentType: "application/json" },
    });

    expect(requestIn(asked!)).toEqual({ method, body: "", contentType: undefined });
    expect(asked?.headers).not.toHaveProperty("content-length");
  });

  test("keeps the numbers of its body as they were written", async () => {
    const config = { url: server.url, method: "POST", body: { id: "ID", price: "PRICE" } };
    const task = JSON.stringify(aComponent("sys-tasks", "exact-body", { type: "6", config }))
      .replace('"ID"', "9007199254740993")
      .replace('"PRICE"', "0.10");
    expect(await app.post(publishPath, task)).toMatchObject({ status: 200 });
    const flow = await publishWith("exact-body-flow", taskWith("exact-body", output("return {};")));
    const from = server.asked.length;
    const id = await flow.begin({});

    await flow.send(id, "go");

    expect(server.asked.slice(from)[0]?.body).toBe('{"id":9007199254740993,"price":0.10}');
  });

  test("has the body that the input handler set, where it set one", async () => {
    const { asked } = await run({
      config: { url: server.url, method: "POST", body: { id: 1, name: "configured" } },
      input: 'task.SetBody({ id: 2, name: "set" });',
    });

    expect(asked?.body).toBe('{"id":2,"name":"set"}');
  });

  test("is what the input handler makes of it", async () => {
    const { asked } = await run({
      config: {
        url: "http://127.0.0.1:1/",
        method: "GET",
        headers: { "X-Old": "1", "X-Two": "2" },
      },
      input: `
        task.SetUrl("${server.url}/made?x=1");
        task.Method = "PUT";
        task.SetBody({ KeepCase: 1 });
        task.SetContentType("application/merge-patch+json");
        task.AddHeader("X-New", "new");
        task.RemoveHeader("x-old");`,
    });

    expect(asked).toMatchObject({
      method: "PUT",
      url: "/made?x=1",
      body: '{"KeepCase":1}',
      headers: { "content-type": "application/merge-patch+json", "x-new": "new", "x-two": "2" },
    });
    expect(asked?.headers).not.toHaveProperty("x-old");
  });

  test("carries trace, request id, caller and an idempotency key", async () => {
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";

    const { asked } = await run({
      config: { url: server.url },
      sent: {
        headers: {
          traceparent: `00-${trace}-00f067aa0ba902b7-00`,
          tracestate: "vendor=1",
          "x-request-id": "r-1",
          sub: "ayse",
          act_sub: "ali",
        },
      },
    });

    expect(asked?.headers).toMatchObject({
      traceparent: expect.stringMatching(`^00-${trace}-[0-9a-f]{16}-00$`) as string,
      tracestate: "vendor=1",
      "x-request-id": "r-1",
      sub: "ayse",
      act_sub: "ali",
      "idempotency-key": expect.stringMatching(/./) as string,
    });
    expect(asked?.headers["traceparent"]).not.toContain("00f067aa0ba902b7");
  });

  test("keeps what the task says of them, except for the trace", async () => {
    const { asked } = await run({
      config: {
        url: server.url,
        headers: {
          "idempotency-key": "mine",
          "X-REQUEST-ID": "mine",
          Sub: "mine",
          act_sub: "",
          traceparent: "mine",
        },
      },
      sent: { headers: { "x-request-id": "r-1", sub: "ayse", act_sub: "ali" } },
    });

    expect(asked?.headers).toMatchObject({
      "idempotency-key": "mine",
      "x-request-id": "mine",
      sub: "mine",
      act_sub: "ali",
      traceparent: expect.stringMatching(/^00-/) as string,
    });
  });

  test("has another idempotency key for each task", async () => {
    const first = await run({ config: { url: server.url } });
    const second = await run({ config: { url: server.url } });

    expect(first.asked?.headers["idempotency-key"]).not.toBe(
      second.asked?.headers["idempotency-key"],
    );
  });
});

describe("the answer", () => {
  test("is what scripts read under the task's name and in the body", async () => {
    const { seen, attributes, status } = await run({
      config: { url: `${server.url}/echo?api_key=abc`, method: "POST", body: { a: 1 } },
    });

    expect(seen).toEqual({
      data: { method: "POST", body: '{"a":1}' },
      statusCode: 200,
      isSuccess: true,
      headers: expect.objectContaining({ "content-type": "application/json" }) as object,
      metadata: {
        Url: `${server.url}/echo?api_key=***`,
        Method: "POST",
        ReasonPhrase: "OK",
      },
      executionDurationMs: expect.any(Number) as number,
      taskType: "http",
      body: '{"method":"POST","body":"{\\"a\\":1}"}',
    });
    expect(attributes["body"]).toMatchObject({ statusCode: 200, isSuccess: true });
    expect(status).toBe("A");
  });

  test("of type 22 is the same", async () => {
    const { seen } = await run({ type: "22", config: { url: server.url } });

    expect(seen).toMatchObject({ isSuccess: true, taskType: "http" });
  });

  test.each<[string, string | undefined, Buffer, unknown]>([
    ["JSON without its type", undefined, Buffer.from('{"a":1}'), { a: 1 }],
    ["JSON announced as text", "text/plain", Buffer.from("[1,2]"), [1, 2]],
    ["text", "text/plain", Buffer.from("hello"), "hello"],
    ["broken JSON", "application/json", Buffer.from('{"a":'), '{"a":'],
    ["nothing", undefined, Buffer.from(""), null],
    ["text in Latin-1", "text/plain; charset=iso-8859-1", Buffer.from("grüße", "latin1"), "grüße"],
    ["text in Turkish", 'text/plain; charset="ISO-8859-9"', Buffer.of(0xfe, 0xfd), "şı"],
    ["text in UTF-16", "text/plain", Buffer.from("\u{feff}hé", "utf16le"), "hé"],
    ["text in an unknown charset", "text/plain; charset=x-none", Buffer.from("é"), "é"],
    [
      "JSON deeper than payloads",
      undefined,
      Buffer.from(`${"[".repeat(65)}${"]".repeat(65)}`),
      `${"[".repeat(65)}${"]".repeat(65)}`,
    ],
  ])("that is %s", async (_, contentType, bytes, data) => {
    const answering = await aWebServer((_asked, _request, response) => {
      if (contentType !== undefined) response.setHeader("content-type", contentType);
      response.end(bytes);
    });

    const { seen } = await run({ config: { url: answering.url } });

    expect(seen).toMatchObject({ isSuccess: true, data });
  });

  test("keeps its numbers all the way into the data", async () => {
    const answering = await aWebServer((_asked, _request, response) =>
      response.end('{"id":9007199254740993,"price":0.10}'),
    );
    await app.publish(
      aComponent("sys-tasks", "exact", { type: "6", config: { url: answering.url } }),
    );
    const flow = await publishWith("exact-flow", taskWith("exact", { type: "G" }));
    const id = await flow.begin({});

    await flow.send(id, "go");

    const { text } = await flow.get(id);
    expect(text).toContain('"id":9007199254740993');
    expect(text).toContain('"price":0.10');
  });
});

describe("an error status", () => {
  test("is an unsuccessful answer, which the output handler sees", async () => {
    const { seen } = await run({ config: { url: `${server.url}/status/404` } });

    expect(seen).toMatchObject({
      data: { reason: "because" },
      statusCode: 404,
      isSuccess: false,
      errorMessage: "HTTP NotFound: Not Found",
      metadata: { ReasonPhrase: "Not Found" },
      body: '{"reason":"because"}',
    });
  });

  test.each([
    [["404"], 404, true],
    [["4xx"], 404, true],
    [["40x"], 404, true],
    [["4XX"], 418, true],
    [["41x"], 404, false],
    [["5xx"], 404, false],
    [["500", "404"], 404, true],
    [["404"], 200, true],
    [[], 500, false],
  ])(
    "with %j accepted and %i answered succeeds: %s",
    async (acceptedStatusCodes, code, success) => {
      const { seen } = await run({
        config: { url: `${server.url}/status/${code}`, acceptedStatusCodes },
      });

      expect(seen).toMatchObject({ statusCode: code, isSuccess: success });
      expect("errorMessage" in seen).toBe(!success);
    },
  );
});

describe("no answer", () => {
  test("from a port where nothing listens is told to the output handler", async () => {
    const { seen } = await run({ config: { url: "http://127.0.0.1:1/x" } });

    expect(seen).toMatchObject({
      data: null,
      isSuccess: false,
      errorMessage: expect.stringContaining("Nothing listens there (ECONNREFUSED)") as string,
      metadata: {
        Url: "http://127.0.0.1:1/x",
        Method: "GET",
        ExceptionType: "HttpRequestException",
      },
    });
    expect(seen).not.toHaveProperty("statusCode");
  });

  test.each([
    ["its own limit", { timeoutSeconds: 1 }, "within 1 s"],
    ["the ceiling of all calls", { timeoutSeconds: 600 }, "within 2 s"],
    ["the ceiling below the default", {}, "within 2 s"],
  ])("within %s is a cancelled call", async (_, config, says) => {
    const { seen } = await run({
      config: { url: `${server.url}/silent`, ...config },
      node: impatient,
    });

    expect(seen).toMatchObject({
      isSuccess: false,
      errorMessage: expect.stringMatching(`^HTTP request was cancelled: .*${says}`) as string,
      metadata: { ExceptionType: "TaskCanceledException", Cancelled: true },
    });
    expect(seen).not.toHaveProperty("statusCode");
  });

  test("that is small enough says which setting counts", async () => {
    const { seen } = await run({ config: { url: `${server.url}/large` } });

    expect(seen).toMatchObject({
      isSuccess: false,
      errorMessage: expect.stringContaining("Egress.AnswerLimitBytes") as string,
    });
  });

  test("comes through a certificate that nobody signed, unless it is not checked", async () => {
    const safe = await aWebServer(
      (_asked, _request, response) => response.end('"safe"'),
      aCertificate(),
    );

    const checked = await run({ config: { url: safe.url } });
    const unchecked = await run({ config: { url: safe.url, validateSsl: false } });

    expect(checked.seen).toMatchObject({
      isSuccess: false,
      errorMessage: expect.stringContaining("certificate is self-signed") as string,
    });
    expect(unchecked.seen).toMatchObject({ isSuccess: true, data: "safe" });
  });
});

describe("a task that cannot be sent faults the instance, and its output handler does not run", () => {
  test.each([
    ["without an address", { url: null }],
    ["to no address", { url: "not an address" }],
    ["to an address inside", { url: "http://127.0.0.2:1/" }],
    ["with a user in its address", { url: `${server.url.replace("//", "//user:pw@")}/` }],
    ["by an unknown scheme", { url: "file:///etc/passwd" }],
    ["with a header that is none", { url: server.url, headers: { "X A": "b" } }],
    [
      "in a charset nobody writes",
      { url: server.url, method: "POST", rawBody: "ş", contentType: "text/plain; charset=koi8-r" },
    ],
  ])("%s", async (_, config) => {
    const { answer, seen, asked, status } = await run({ config });

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
    expect(status).toBe("F");
    expect(seen).toEqual({});
    expect(asked).toBeUndefined();
  });

  test("with a method that is none", async () => {
    const { status, asked } = await run({
      config: { url: server.url },
      input: 'task.Method = "BREW";',
    });

    expect(status).toBe("F");
    expect(asked).toBeUndefined();
  });
});

test("a mapping with an output handler only sends the task as it is configured", async () => {
  await app.publish(
    aComponent("sys-tasks", "plain-call", { type: "6", config: { url: `${server.url}/plain` } }),
  );
  const flow = await publishWith(
    "plain-flow",
    taskWith("plain-call", output("return { Data: { status: context.Body.statusCode } };")),
  );
  const id = await flow.begin({});

  await flow.send(id, "go");

  expect((await flow.read(id)).attributes).toEqual({ status: 200 });
});
