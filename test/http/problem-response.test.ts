import { expect, test } from "vitest";
import { aServer } from "../support/a-server.ts";

test("a refusal is a problem with every member of the specification, in order", async () => {
  const { app } = aServer();

  const answer = await app.inject("/api/v1.0/refuses?x=1");

  expect(answer.statusCode).toBe(404);
  expect(answer.headers["content-type"]).toBe("application/problem+json; charset=utf-8");
  const body = answer.json<Record<string, unknown>>();
  expect(body).toEqual({
    type: "https://httpstatuses.com/404/notfound/Instance/100013",
    title: "Not Found",
    status: 404,
    detail:
      "No instance 'L-1' in workflow 'loan' of domain 'core'. Give an id or a business key that exists.",
    instance: "/api/v1.0/refuses",
    errorCode: "notfound.Instance:100013",
    prefix: "notfound",
    code: "Instance:100013",
    traceId: answer.headers["traceparent"],
    target: "L-1",
  });
  expect(Object.keys(body).slice(0, 5)).toEqual(["type", "title", "status", "detail", "instance"]);
});

test("the base of 'type' is configurable, with or without a slash at its end", async () => {
  const { app } = aServer({ errorTypeBase: "https://errors.example.com/" });

  const answer = await app.inject("/nowhere");

  expect(answer.json()).toMatchObject({
    type: "https://errors.example.com/404/notfound/Http/404001",
  });
});

test("validation problems always have 'errors', even empty", async () => {
  const { app } = aServer();

  const answer = await app.inject({
    method: "POST",
    url: "/api/v1/echo",
    headers: { "content-type": "application/json" },
    payload: "{",
  });

  expect(answer.json()).toMatchObject({ prefix: "validation", code: "Http:400002", errors: {} });
});

test("an unknown route is 404 before its body is looked at", async () => {
  const { app } = aServer();

  const answer = await app.inject({
    method: "POST",
    url: "/nowhere",
    headers: { "content-type": "application/json" },
    payload: "{",
  });

  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toMatchObject({ code: "Http:404001", instance: "/nowhere" });
});

test.each([
  ["DELETE", "/api/v1/echo", "POST"],
  ["PUT", "/API/v1.0/Echo/", "POST"],
  ["POST", "/api/v1/core/things/x", "GET, HEAD"],
  ["OPTIONS", "/api/v1/echo", "POST"],
  ["PROPFIND", "/api/v1/echo", "POST"],
] as const)("%s %s is 405 and allows %s", async (method, url, allowed) => {
  const { app } = aServer();

  const answer = await app.inject({ method: method as "GET", url });

  expect(answer.statusCode).toBe(405);
  expect(answer.headers["allow"]).toBe(allowed);
  expect(answer.json()).toMatchObject({ errorCode: "notsupported.Http:405001" });
});

test("a fault is 500 without its cause; the log has it under the same trace id", async () => {
  const { app, logged } = aServer();

  const answer = await app.inject("/api/v1/fails");

  expect(answer.statusCode).toBe(500);
  expect(answer.body).not.toMatch(/hunter2|stack|\.ts/);
  expect(answer.headers).toMatchObject({
    "cache-control": "no-cache",
    pragma: "no-cache",
    expires: "-1",
  });
  expect(answer.json()).toMatchObject({ errorCode: "failure.Http:500001" });
  const failure = logged.find((line) => line["msg"] === "RequestFailed");
  expect(failure).toMatchObject({
    level: "error",
    traceId: answer.headers["x-trace-id"],
    requestId: answer.headers["x-request-id"],
    err: { type: "Error", stack: expect.stringContaining("a-server.ts") as string },
  });
});

test("storage that is away is 503 with Retry-After, and one line with the reason in the log", async () => {
  const { app, logged } = aServer();

  const answer = await app.inject("/api/v1/storage-away");

  expect(answer.statusCode).toBe(503);
  expect(answer.headers["retry-after"]).toBe("7");
  expect(answer.json()).toMatchObject({ errorCode: "transient.Http:503001" });
  const [line] = logged.filter(({ msg }) => msg === "RequestRefusedTemporarily");
  expect(line).toMatchObject({ level: "warn", status: 503, reason: expect.any(String) as string });
  expect(line).not.toHaveProperty("err");
});

test("a problem never carries the ETag of what it could not deliver", async () => {
  const { app } = aServer();
  app.get("/late", (_request, reply) => {
    reply.header("etag", '"1"');
    throw new Error("late");
  });

  const answer = await app.inject("/late");

  expect(answer.statusCode).toBe(500);
  expect(answer.headers["etag"]).toBeUndefined();
});

test("a route may say that it has nothing after all", async () => {
  const { app } = aServer();
  app.get("/maybe", (_request, reply) => reply.callNotFound());

  const answer = await app.inject("/maybe?x=1");

  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toMatchObject({ code: "Http:404001", instance: "/maybe" });
});

test("anything may be thrown: a text, nothing, an object with a status", async () => {
  const { app } = aServer();
  const thrown: Record<string, unknown> = {
    text: "boom",
    none: undefined,
    status: { statusCode: 418 },
  };
  app.get("/throw/:what", (request) =>
    Promise.resolve().then(() => {
      throw thrown[(request.params as { what: string }).what];
    }),
  );

  for (const what of Object.keys(thrown)) {
    const answer = await app.inject(`/throw/${what}`);
    expect([what, answer.statusCode, answer.headers["content-type"]]).toEqual([
      what,
      500,
      "application/problem+json; charset=utf-8",
    ]);
  }
});
