import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { parseJsonBody } from "../../src/http/json-body.ts";
import { aServer } from "../support/a-server.ts";

async function post(payload: string | Buffer, type: string | undefined = "application/json") {
  const { app } = aServer({ limits: { bodyBytes: 4096, jsonDepth: 8 } });
  const answer = await app.inject({
    method: "POST",
    url: "/api/v1/echo",
    payload,
    headers: { "content-type": type },
  });
  return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
}

test("an empty body with a JSON content type is no body", async () => {
  expect(await post("")).toEqual({ status: 200, body: { body: "none", bytes: 0 } });
});

test("the bytes of the body stay available", async () => {
  expect(await post('{"é":1}')).toEqual({ status: 200, body: { body: { é: 1 }, bytes: 8 } });
});

test("a byte order mark is tolerated", async () => {
  expect((await post("\uFEFF[1]")).body).toMatchObject({ body: [1] });
});

test.each([
  ["ends too early", '{"a":', "line 1, column 6: expected a value, the text ends"],
  ["is broken", '{"a":1,"b":tru}', "line 1, column 15: expected 'true', found \"}\""],
  ["lacks a comma", '{"a":1\n "b":2}', "line 2, column 2: expected ',' or '}'"],
  ["is not UTF-8", Buffer.from([0x22, 0xff, 0x22]), "it is not valid UTF-8"],
  ["is only space", "  ", "line 1, column 3: expected a value, the text ends"],
])("a body that %s is 400 and says so", async (_name, payload, reason) => {
  const { status, body } = await post(payload);

  expect(status).toBe(400);
  expect(body).toMatchObject({ code: "Http:400002" });
  expect(body["detail"]).toContain(reason);
});

test("a broken body is not repeated in the answer", async () => {
  const { body } = await post('{"npmToken": sekret-123}');

  expect(JSON.stringify(body)).not.toContain("sekret");
});

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

test("nesting up to the limit is accepted, one level more is 400", async () => {
  expect((await post(nested(8))).status).toBe(200);
  expect(await post(nested(9))).toMatchObject({ status: 400, body: { code: "Http:400003" } });
  expect((await post('{"a":{"b":'.repeat(5) + "1" + "}}".repeat(5))).status).toBe(400);
});

test("brackets inside texts do not count as nesting", async () => {
  const text = String.raw`"[[[[[[[[[[[[ \" {{{{{{{{{{ \\"`;

  expect((await post(text)).status).toBe(200);
  expect((await post(`[${text},[[[[[[[1]]]]]]]]`)).status).toBe(200);
  expect((await post(`[${text},[[[[[[[[1]]]]]]]]]`)).status).toBe(400);
});

test("a body beyond the limit is 413", async () => {
  expect((await post(JSON.stringify("x".repeat(4094)))).status).toBe(200);
  expect(await post(JSON.stringify("x".repeat(4095)))).toMatchObject({
    status: 413,
    body: { code: "Http:413001" },
  });
});

test("of a name given twice the last value counts", async () => {
  expect((await post('{"a":1,"a":2}')).body).toMatchObject({ body: { a: 2 } });
});

test("__proto__ and constructor are ordinary members and change no prototype", () => {
  const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';

  const value = parseJsonBody(Buffer.from(text), { jsonDepth: 64 }) as object;

  expect(Object.keys(value)).toEqual(["__proto__", "constructor"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect("polluted" in {}).toBe(false);
});

test.each([
  "application/json; charset=utf-8",
  "application/merge-patch+json",
  "text/json",
  "APPLICATION/JSON",
])("%s is read as JSON", async (type) => {
  expect((await post("[1]", type)).body).toMatchObject({ body: [1] });
});

test.each([
  "text/plain",
  "application/xml",
  "multipart/form-data; boundary=x",
  "application/x-www-form-urlencoded",
  "application/json; charset=utf-16",
  "nonsense",
])("%s is 415 and names what is accepted", async (type) => {
  const { status, body } = await post("[1]", type);

  expect(status).toBe(415);
  expect(body).toMatchObject({ errorCode: "notsupported.Http:415001" });
  expect(body["detail"]).toContain("application/json");
});

test("a compressed body is 415, not misread", async () => {
  const { app } = aServer();

  const answer = await app.inject({
    method: "POST",
    url: "/api/v1/echo",
    payload: gzipSync("[1]"),
    headers: { "content-type": "application/json", "content-encoding": "gzip" },
  });

  expect(answer.statusCode).toBe(415);
});

test("another body format is one more entry", async () => {
  const lines = {
    name: "text/lines",
    contentTypes: ["text/lines"],
    parse: (body: Buffer) => body.toString().split("\n"),
  };
  const { app } = aServer({ bodyFormats: [lines] });
  const send = (type: string) =>
    app.inject({
      method: "POST",
      url: "/api/v1/echo",
      payload: "a\nb",
      headers: { "content-type": type },
    });

  const read = await send("text/lines; charset=utf-8");
  const refused = await send("application/json");

  expect(read.json()).toMatchObject({ body: ["a", "b"] });
  expect(refused.statusCode).toBe(415);
});
