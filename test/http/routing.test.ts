import { Type } from "typebox";
import { expect, test } from "vitest";
import { aServer } from "../support/a-server.ts";

test.each([
  "/api/v1/core/things/AbC",
  "/api/v1.0/core/things/AbC",
  "/API/V1.0/core/Things/AbC",
  "/api/v1/core/things/AbC/",
  "/api/v1.0/core/things/AbC/?x=1",
])("%s reaches the route and keeps the case of its parameters", async (url) => {
  const { app } = aServer();

  const answer = await app.inject(url);

  expect(answer.json()).toMatchObject({ params: { domain: "core", thing: "AbC" } });
});

test.each(["/api/v1.01/core/things/x", "/api/v1.0core/things/x", "/api/v2/core/things/x"])(
  "%s is another path: 404",
  async (url) => {
    const { app } = aServer();

    const answer = await app.inject(url);

    expect(answer.statusCode).toBe(404);
  },
);

test("encoded path parameters arrive decoded", async () => {
  const { app } = aServer();

  const answer = await app.inject("/api/v1/core/things/a%2Fb%20%C3%A9");

  expect(answer.json()).toMatchObject({ params: { thing: "a/b é" } });
});

test("query names match in any case, repeated ones become a list", async () => {
  const { app } = aServer();

  const answer = await app.inject(
    "/api/v1/core/things/x?Version=1&version=2&VERSION=3&a+b=c%20d&e",
  );

  expect(answer.json()).toMatchObject({ query: { version: ["1", "2", "3"], "a b": "c d", e: "" } });
});

test("a query name such as __proto__ is a name like any other", async () => {
  const { app } = aServer();

  const answer = await app.inject("/api/v1/core/things/x?__proto__=1&constructor=2&toString=3");

  const { query } = JSON.parse(answer.body) as { query: object };
  expect(Object.entries(query)).toEqual([
    ["__proto__", "1"],
    ["constructor", "2"],
    ["tostring", "3"],
  ]);
});

test("a query that cannot be decoded is answered 400 and names the pair", async () => {
  const { app } = aServer();

  const answer = await app.inject("/api/v1/core/things/x?ok=1&a=%E0%A4");

  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({
    code: "ModelValidation:Failed",
    errors: { query: ["'a=%E0%A4' is not correctly percent-encoded"] },
  });
});

test("a query schema gets its own spelling back, with values converted and defaults filled in", async () => {
  const { app } = aServer();
  const querystring = Type.Object({
    pageSize: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
    sync: Type.Optional(Type.Boolean()),
    extensions: Type.Optional(Type.Array(Type.String())),
  });
  app.get("/list", { schema: { querystring } }, (request) => request.query);

  const given = await app.inject("/list?PAGESIZE=7&Sync=true&extensions=a");
  const none = await app.inject("/list");

  expect(given.json()).toEqual({ pageSize: 7, sync: true, extensions: ["a"] });
  expect(none.json()).toEqual({ pageSize: 20 });
});

test.each([
  ["True", true],
  ["TRUE", true],
  ["False", false],
])("a boolean in a query may be written %s", async (text, value) => {
  const { app } = aServer();
  const querystring = Type.Object({ isSync: Type.Optional(Type.Boolean()) });
  app.get("/flag", { schema: { querystring } }, (request) => request.query);

  const answer = await app.inject(`/flag?isSync=${text}`);

  expect(answer.json()).toEqual({ isSync: value });
});

test("a query against its schema is answered 400 with every mistake by name", async () => {
  const { app } = aServer();
  const querystring = Type.Object({
    page: Type.Integer({ minimum: 1 }),
    order: Type.Optional(Type.Union([Type.Literal("asc"), Type.Literal("desc")])),
  });
  app.get("/list", { schema: { querystring } }, () => ({}));

  const wrong = await app.inject("/list?page=0&order=up");
  const missing = await app.inject("/list");

  expect(wrong.statusCode).toBe(400);
  expect(Object.keys(wrong.json<{ errors: object }>().errors)).toEqual(["page", "order"]);
  expect(missing.json()).toMatchObject({
    errorCode: "validation.ModelValidation:Failed",
    errors: { page: ["is required"] },
  });
});

test("a body is checked literally: the text 1 is not the number 1", async () => {
  const { app } = aServer();
  const body = Type.Object({
    n: Type.Integer(),
    list: Type.Optional(Type.Array(Type.Object({ a: Type.String() }))),
  });
  app.post("/number", { schema: { body } }, (request) => request.body);

  const text = await app.inject({
    method: "POST",
    url: "/number",
    payload: { n: "1", list: [{ a: 1 }] },
  });
  const number = await app.inject({
    method: "POST",
    url: "/number",
    payload: { n: 1, more: true },
  });
  const none = await app.inject({ method: "POST", url: "/number" });

  expect(text.json()).toMatchObject({
    errors: { n: ["must be integer"], "list.0.a": ["must be string"] },
  });
  expect(number.json()).toEqual({ n: 1, more: true });
  expect(none.statusCode).toBe(400);
});

test("a route with an optional body accepts none, one that checks itself accepts anything", async () => {
  const { app } = aServer();
  const body = Type.Object({ n: Type.Integer() });
  app.post("/optional", { schema: { body: Type.Optional(body) } }, () => ({ ok: true }));
  app.post("/own", { schema: { body }, config: { checksBodyItself: true } }, (r) => ({
    got: r.body,
  }));

  const none = await app.inject({ method: "POST", url: "/optional" });
  const wrong = await app.inject({ method: "POST", url: "/optional", payload: { n: "1" } });
  const own = await app.inject({ method: "POST", url: "/own", payload: ["anything"] });

  expect(none.statusCode).toBe(200);
  expect(wrong.statusCode).toBe(400);
  expect(own.json()).toEqual({ got: ["anything"] });
});

test("a response schema documents and never drops a member", async () => {
  const { app } = aServer();
  const response = { 200: Type.Object({ listed: Type.String() }) };
  app.get(
    "/answer",
    { schema: { response } },
    () => ({ listed: "a", unlisted: { b: null } }) as never,
  );

  const answer = await app.inject("/answer");

  expect(answer.json()).toEqual({ listed: "a", unlisted: { b: null } });
});

test("HEAD works for GET routes: same headers, no body", async () => {
  const { app } = aServer();

  const head = await app.inject({ method: "HEAD", url: "/api/v1/core/things/x" });
  const get = await app.inject("/api/v1/core/things/x");

  expect(head.statusCode).toBe(200);
  expect(head.body).toBe("");
  expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
});

test("304 and 204 have no body", async () => {
  const { app } = aServer();
  app.get("/same", (_request, reply) => reply.status(304).header("etag", '"1"').send());
  app.get("/nothing", (_request, reply) => reply.status(204).send());

  const same = await app.inject("/same");
  const nothing = await app.inject("/nothing");

  expect([same.statusCode, same.body, same.headers["etag"]]).toEqual([304, "", '"1"']);
  expect([nothing.statusCode, nothing.body]).toEqual([204, ""]);
});
