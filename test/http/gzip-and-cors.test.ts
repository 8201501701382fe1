import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { aServer } from "../support/a-server.ts";

const accept = (encoding: string) => ({ headers: { "accept-encoding": encoding } });

test("a long answer is compressed for those who accept it, with its length", async () => {
  const { app } = aServer();

  const plain = await app.inject("/api/v1/long");
  const packed = await app.inject({ url: "/api/v1/long", ...accept("br, gzip;q=0.5") });

  expect(plain.headers["content-encoding"]).toBeUndefined();
  expect(plain.headers["vary"]).toBe("accept-encoding");
  expect(packed.headers["content-encoding"]).toBe("gzip");
  expect(packed.headers["content-length"]).toBe(String(packed.rawPayload.length));
  expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body);
});

test.each(["identity", "gzip;q=0", "br", "*;q=0", "gzip;q=0.0, *"])(
  "accept-encoding '%s' gets plain text",
  async (encoding) => {
    const { app } = aServer();

    const answer = await app.inject({ url: "/api/v1/long", ...accept(encoding) });

    expect(answer.headers["content-encoding"]).toBeUndefined();
    expect(answer.json()).toHaveProperty("text");
  },
);

test("short answers, pictures and event streams stay as they are", async () => {
  const { app } = aServer();
  const long = "x".repeat(5000);
  app.get("/picture", (_request, reply) => reply.type("image/png").send(Buffer.from(long)));
  app.get("/events", (_request, reply) => reply.type("text/event-stream").send(long));

  for (const url of ["/nowhere", "/picture", "/events"]) {
    const answer = await app.inject({ url, ...accept("gzip") });
    expect([url, answer.headers["content-encoding"]]).toEqual([url, undefined]);
  }
});

test("a long problem and a stream are compressed too", async () => {
  const { app } = aServer();
  app.get("/stream", (_request, reply) => reply.type("text/plain").send(Readable.from(["a", "b"])));

  const problem = await app.inject({ url: `/${"x".repeat(2000)}`, ...accept("gzip") });
  const stream = await app.inject({ url: "/stream", ...accept("gzip") });

  expect(JSON.parse(gunzipSync(problem.rawPayload).toString())).toMatchObject({ status: 404 });
  expect(gunzipSync(stream.rawPayload).toString()).toBe("ab");
});

test("HEAD of a long answer tells the compressed length and has no body", async () => {
  const { app } = aServer();

  const get = await app.inject({ url: "/api/v1/long", ...accept("gzip") });
  const head = await app.inject({ method: "HEAD", url: "/api/v1/long", ...accept("gzip") });

  expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
  expect(head.rawPayload.length).toBe(0);
});

test("without configuration no origin is allowed", async () => {
  const { app } = aServer();

  const answer = await app.inject({
    url: "/api/v1/long",
    headers: { origin: "https://a.example" },
  });

  expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
});

test("an origin that is configured may call, read our headers, and see refusals", async () => {
  const { app } = aServer({ cors: { origins: ["https://a.example"] } });
  const ask = (url: string, origin: string) => app.inject({ url, headers: { origin } });

  const allowed = await ask("/api/v1/long", "https://a.example");
  const refusal = await ask("/nowhere", "https://a.example");
  const other = await ask("/api/v1/long", "https://b.example");

  expect(allowed.headers["access-control-allow-origin"]).toBe("https://a.example");
  expect(allowed.headers["access-control-expose-headers"]).toContain("x-request-id");
  expect([refusal.statusCode, refusal.headers["access-control-allow-origin"]]).toEqual([
    404,
    "https://a.example",
  ]);
  expect(other.headers["access-control-allow-origin"]).toBeUndefined();
});

test("a preflight is answered 204 with our headers, and unknown paths stay 404", async () => {
  const { app } = aServer({ cors: { origins: ["*"] } });

  const preflight = await app.inject({
    method: "OPTIONS",
    url: "/api/v1/echo",
    headers: { origin: "https://a.example", "access-control-request-method": "PATCH" },
  });
  const unknown = await app.inject({ method: "DELETE", url: "/nowhere" });

  expect(preflight.statusCode).toBe(204);
  expect(preflight.headers["access-control-allow-methods"]).toContain("PATCH");
  expect(preflight.headers["x-app-version"]).toBe("1.2.3");
  expect(unknown.statusCode).toBe(404);
});
