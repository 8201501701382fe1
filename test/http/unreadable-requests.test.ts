/** What only shows over a real socket: requests that are too large, too slow, or no HTTP at all. */
import { once } from "node:events";
import { request as nodeRequest } from "node:http";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { aServer, onAPort, readAnswer, sendBytes, type RawAnswer } from "../support/a-server.ts";

function expectProblem(answer: RawAnswer, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    "content-type": "application/problem+json; charset=utf-8",
    "content-length": String(Buffer.byteLength(answer.body)),
    "x-app-version": "1.2.3",
    "x-request-id": expect.any(String) as string,
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
  });
  const body = JSON.parse(answer.body) as Record<string, unknown>;
  expect(body).toMatchObject({ status, code, traceId: answer.headers["traceparent"] });
}

const close = "connection: close\r\n";
const get = (headers: string) => `GET /api/v1/core/things/x HTTP/1.1\r\nhost: a\r\n${headers}\r\n`;
const fields = (count: number) => Array.from({ length: count }, (_, i) => `h${i}: v\r\n`).join("");

test("60,000 bytes of headers are accepted, 70,000 are 431", async () => {
  const { app } = aServer();
  const port = await onAPort(app);

  const accepted = await sendBytes(port, get(`${close}big: ${"x".repeat(60_000)}\r\n`));
  const refused = await sendBytes(port, get(`${close}big: ${"x".repeat(70_000)}\r\n`));

  expect(readAnswer(accepted).status).toBe(200);
  expectProblem(readAnswer(refused), 431, "Http:431001");
});

test("a megabyte of headers still gets its 431 to a client that reads late", async () => {
  const { app } = aServer();
  const port = await onAPort(app);
  const part = `h: ${"x".repeat(1000)}\r\n`.repeat(64);

  const refused = await sendBytes(
    port,
    get("").slice(0, -2),
    ...Array.from({ length: 16 }, () => part),
  );

  expectProblem(readAnswer(refused), 431, "Http:431001");
});

test("200 header fields are accepted, 201 and 3,000 are 431", async () => {
  const { app } = aServer();
  const port = await onAPort(app);

  // host and connection count too.
  const accepted = await sendBytes(port, get(close + fields(198)));
  const refused = await sendBytes(port, get(close + fields(199)));
  const many = await sendBytes(port, get(close + fields(3000)));

  expect(readAnswer(accepted).status).toBe(200);
  expectProblem(readAnswer(refused), 431, "Http:431001");
  expectProblem(readAnswer(many), 431, "Http:431001");
});

test.each([
  ["no HTTP at all", "hello\r\n\r\n"],
  ["an unknown method", "FETCH / HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["a broken version", "GET / HTTP/9.9\r\nhost: a\r\n\r\n"],
  ["a broken header", "GET / HTTP/1.1\r\nhost: a\r\nno colon\r\n\r\n"],
  ["two lengths", "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
  [
    "a length and chunks (smuggling)",
    "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["no host", `GET /api/v1/core/things/x HTTP/1.1\r\n${close}\r\n`],
])("%s is 400 with a problem", async (_name, bytes) => {
  const { app } = aServer();
  const port = await onAPort(app);

  const answer = await sendBytes(port, bytes);

  expectProblem(readAnswer(answer), 400, "Http:400001");
});

test("a client that never finishes its headers is cut with 408", async () => {
  const { app } = aServer({ limits: { requestTimeoutMs: 300 } });
  const port = await onAPort(app);
  const started = performance.now();

  const answer = await sendBytes(port, "GET / HTTP/1.1\r\nhost: a\r\nx: ");

  expectProblem(readAnswer(answer), 408, "Http:408001");
  // Without the setting it would be cut after 30 seconds.
  expect(performance.now() - started).toBeLessThan(25_000);
});

test("a client that drips its body is cut with 408, under the ids of its request", async () => {
  const { app } = aServer({ limits: { requestTimeoutMs: 300 } });
  const port = await onAPort(app);
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (data) => (received += data.toString()));
  socket.on("error", () => undefined);
  const drip = setInterval(() => socket.write("1"), 20);

  socket.write(
    "POST /api/v1/echo HTTP/1.1\r\nhost: a\r\nx-request-id: slow-1\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n",
  );
  await once(socket, "close");
  clearInterval(drip);

  const answer = readAnswer(received);
  expectProblem(answer, 408, "Http:408001");
  expect(answer.headers["x-request-id"]).toBe("slow-1");
  expect(JSON.parse(answer.body)).toMatchObject({ instance: "/api/v1/echo" });
});

test("a handler may take longer than a client may take to send", async () => {
  const { app } = aServer({ limits: { requestTimeoutMs: 1000 } });
  app.get("/slow", async () => {
    await delay(1500);
    return { done: true };
  });
  const port = await onAPort(app);

  const answer = await sendBytes(port, `GET /slow HTTP/1.1\r\nhost: a\r\n${close}\r\n`);

  expect(readAnswer(answer).status).toBe(200);
});

const post = (body: string, headers = "") =>
  `POST /api/v1/echo HTTP/1.1\r\nhost: a\r\n${headers}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

test("one connection serves request after request, also after a refused body", async () => {
  const { app } = aServer();
  const port = await onAPort(app);

  const answers = await sendBytes(port, post("{"), post("[1]"), post("[2]", close));

  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual([
    "HTTP/1.1 400",
    "HTTP/1.1 200",
    "HTTP/1.1 200",
  ]);
});

test("rubbish after a request in progress never becomes that request's answer", async () => {
  const { app } = aServer();
  app.get("/slow", async () => {
    await delay(100);
    return { done: true };
  });
  const port = await onAPort(app);

  const answer = await sendBytes(port, "GET /slow HTTP/1.1\r\nhost: a\r\n\r\n", "rubbish\r\n\r\n");

  expect(answer).not.toContain("HTTP/1.1 400");
});

test("a body announced too large is 413 and the client can read it", async () => {
  const { app } = aServer({ limits: { bodyBytes: 1000 } });
  const port = await onAPort(app);
  const body = Buffer.alloc(5_000_000, "x");

  const status = await new Promise((resolve, reject) => {
    const request = nodeRequest(
      {
        port,
        method: "POST",
        path: "/api/v1/echo",
        headers: { "content-type": "application/json" },
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    );
    request.on("error", reject);
    request.end(body);
  });

  expect(status).toBe(413);
});

test("a body that grows too large in chunks is 413", async () => {
  const { app } = aServer({ limits: { bodyBytes: 1000 } });
  const port = await onAPort(app);
  const chunk = `400\r\n${"x".repeat(1024)}\r\n`;

  const answer = await sendBytes(
    port,
    "POST /api/v1/echo HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    chunk,
    chunk,
  );

  expectProblem(readAnswer(answer), 413, "Http:413001");
});

test("an unknown expectation is ignored, not answered with a bare 417", async () => {
  const { app } = aServer();
  const port = await onAPort(app);

  const answer = await sendBytes(port, get(`${close}expect: wonders\r\n`));

  expect(readAnswer(answer)).toMatchObject({ status: 200, headers: { "x-app-version": "1.2.3" } });
});

test("a client that leaves in the middle of its body is no fault of ours", async () => {
  const { app, logged } = aServer();
  const port = await onAPort(app);
  const socket = connect(port, "127.0.0.1");
  socket.write(
    "POST /api/v1/echo HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
  );
  await delay(50);

  socket.resetAndDestroy();
  await delay(50);

  expect(logged.filter((line) => line["level"] === "error")).toEqual([]);
});
