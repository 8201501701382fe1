import { expect, test } from "vitest";
import { aServer } from "../support/a-server.ts";

const everyAnswer = [
  ["an answer", "GET", "/api/v1/core/things/x", 200],
  ["an unknown route", "GET", "/nowhere", 404],
  ["a wrong method", "DELETE", "/api/v1/echo", 405],
  ["a path that cannot be decoded", "GET", "/api/v1/%zz", 400],
  ["a query that cannot be decoded", "GET", "/api/v1/core/things/x?a=%zz", 400],
  ["a body of another type", "POST", "/api/v1/echo", 415],
  ["a refusal", "GET", "/api/v1/refuses", 404],
  ["a fault", "GET", "/api/v1/fails", 500],
  ["storage that is away", "GET", "/api/v1/storage-away", 503],
  ["a path far too long", "GET", `/api/v1/core/things/${"x".repeat(3000)}`, 404],
] as const;

test.each(everyAnswer)("%s carries the standard headers", async (_name, method, url, status) => {
  const { app } = aServer();

  const payload =
    method === "POST" ? { payload: "<a/>", headers: { "content-type": "text/xml" } } : {};
  const answer = await app.inject({ method, url, ...payload });

  expect(answer.statusCode).toBe(status);
  expect(answer.headers).toMatchObject({
    "x-app-version": "1.2.3",
    "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    "x-trace-id": expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    "x-span-id": expect.stringMatching(/^[0-9a-f]{16}$/) as string,
    "x-content-type-options": "nosniff",
    "x-xss-protection": "1; mode=block",
    "x-frame-options": "SAMEORIGIN",
  });
  const { "x-trace-id": trace, "x-span-id": span } = answer.headers;
  expect(answer.headers["traceparent"]).toBe(`00-${String(trace)}-${String(span)}-01`);
});

test("api-supported-versions is on API routes and nowhere else", async () => {
  const { app } = aServer();

  const api = await app.inject("/API/v1.0/core/things/x");
  const other = await app.inject("/nowhere");

  expect(api.headers["api-supported-versions"]).toBe("1.0");
  expect(other.headers["api-supported-versions"]).toBeUndefined();
});

test("a request id of the caller comes back", async () => {
  const { app } = aServer();

  const answer = await app.inject({ url: "/nowhere", headers: { "x-request-id": "order-17/a" } });

  expect(answer.headers["x-request-id"]).toBe("order-17/a");
});

test.each([
  ["longer than 128 characters", "x".repeat(129)],
  ["with a space", "two words"],
  ["empty", ""],
  ["not ASCII", "é"],
])("a request id %s is replaced", async (_name, given) => {
  const { app } = aServer();

  const answer = await app.inject({ url: "/nowhere", headers: { "x-request-id": given } });

  expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
});

const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";

test("a traceparent keeps its trace id and gets a span of ours", async () => {
  const { app } = aServer();

  const headers = { traceparent: `00-${trace}-${parent}-01`, tracestate: "vendor=1" };
  const answer = await app.inject({ url: "/api/v1/refuses", headers });

  expect(answer.headers["x-trace-id"]).toBe(trace);
  expect(answer.headers["x-span-id"]).not.toBe(parent);
  expect(answer.headers["x-trace-state"]).toBe("vendor=1");
  expect(answer.json()).toMatchObject({ traceId: answer.headers["traceparent"] });
});

test.each([
  ["not hexadecimal", `00-${"z".repeat(32)}-${parent}-01`],
  ["upper case", `00-${trace.toUpperCase()}-${parent}-01`],
  ["all zero", `00-${"0".repeat(32)}-${parent}-01`],
  ["without a span", `00-${trace}-${"0".repeat(16)}-01`],
  ["of version ff", `ff-${trace}-${parent}-01`],
  ["of version 00 with more fields", `00-${trace}-${parent}-01-x`],
  ["too short", `00-${trace}-01`],
])("a traceparent %s begins a new trace", async (_name, traceparent) => {
  const { app } = aServer();

  const answer = await app.inject({ url: "/nowhere", headers: { traceparent } });

  expect(answer.headers["x-trace-id"]).toMatch(/^[0-9a-f]{32}$/);
  expect(answer.headers["x-trace-id"]).not.toBe(trace);
});

test("a later version of traceparent may have more fields", async () => {
  const { app } = aServer();

  const headers = { traceparent: `01-${trace}-${parent}-00-later` };
  const answer = await app.inject({ url: "/nowhere", headers });

  expect(answer.headers["x-trace-id"]).toBe(trace);
  expect(answer.headers["traceparent"]).toMatch(/^00-.*-00$/);
});
