import { describe, expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
await app.publish(
  aSchema("sized", { type: "object", properties: { amount: { type: "integer" } } }),
  aWorkflow("order").start("begin", { schema: "sized" }).state("open").transition("note", {}),
);
const orders = instancesOf(app, "order");

const form = { "content-type": "application/x-www-form-urlencoded" };
const start = (body: string, headers: Record<string, string> = {}) =>
  orders.start(body, { headers: { ...form, ...headers } });

describe("a form is read as the JSON it stands for:", () => {
  test.each<[string, object]>([
    ["attributes[a][b]=v", { a: { b: "v" } }],
    ["a[b][c]=v&a[b][d]=w", { a: { b: { c: "v", d: "w" } } }],
    ["tags=x&tags=y&other=1", { tags: ["x", "y"], other: 1 }],
    ["list[]=x&list[]=y", { list: ["x", "y"] }],
    ["items[0][f]=v&items[1][f]=w", { items: [{ f: "v" }, { f: "w" }] }],
    ["items[1][f]=w&items[0][f]=v", { items: [{ f: "v" }, { f: "w" }] }],
    [
      "n=12&f=1.5&t=true&x=null&s=%2212%22&w=twelve&e=",
      {
        n: 12,
        f: 1.5,
        t: true,
        x: null,
        s: "12",
        w: "twelve",
        e: "",
      },
    ],
    ["name=two+words&city=K%C3%B6ln", { name: "two words", city: "Köln" }],
    ["", {}],
  ])("%s", async (body, attributes) => {
    expect(await start(body)).toMatchObject({ status: 200, body: { attributes } });
  });

  test("numbers beyond 2^53 and trailing zeros stay as they are", async () => {
    const answer = await start("big=9007199254740993&price=0.10");

    expect(answer.text).toContain('"big":9007199254740993');
    expect(answer.text).toContain('"price":0.10');
  });
});

test("key, stage and tags of an envelope are texts, whatever they look like", async () => {
  const answer = await start("key=12&stage=true&tags=1&tags=null&attributes[amount]=5");

  expect(answer).toMatchObject({ status: 200, body: { key: "12", attributes: { amount: 5 } } });
  expect(await orders.read("12")).toMatchObject({
    key: "12",
    tags: ["1", "null"],
    metadata: { stage: "true" },
  });
});

test("a single tag is a list of one", async () => {
  const answer = await start("tags=only&attributes[a]=1");

  expect((await orders.read((answer.body as { id: string }).id)).tags).toEqual(["only"]);
});

test("the payload mode applies to forms too", async () => {
  const raw = await start("key=k&stage=s", { "x-service-payload-mode": "raw" });
  const standard = await start("stage=s&amount=1", { "x-service-payload-mode": "standard" });

  expect(raw.body).toMatchObject({ attributes: { key: "k", stage: "s" } });
  expect(raw.body).not.toHaveProperty("key");
  expect(standard.body).toMatchObject({ attributes: {} });
});

test("a transition takes forms, its schema sees the typed values", async () => {
  const id = await orders.begin();

  const sent = await orders.send(id, "note", "attributes[amount]=7&stage=S", { headers: form });
  const wrong = await start("amount=seven");

  expect(sent).toMatchObject({ status: 200, body: { attributes: { amount: 7 } } });
  expect(wrong).toMatchObject({
    status: 400,
    body: { error: { validationErrors: [{ members: ["amount"] }] } },
  });
});

describe("refused as a whole, with nothing processed:", () => {
  test.each([
    "items[][f]=v",
    "items[][f]=v&items[][f]=w",
    "a[b=1",
    "a]b=1",
    "a[b]c=1",
    "a[-1]=1",
    "a[1]=x",
    "a[0]=x&a[2]=y",
    "a[1000000000]=x",
    "a=1&a[b]=2",
    "a[b]=2&a=1",
    "a[0]=1&a[b]=2",
    "=1",
    "[a]=1",
    'a={"b":1}',
    "a=[1]",
    "a=%zz",
    "a=%00",
    "key=1&attributes[a]=1&attributes=2",
    '{"amount":1}',
    ' { "amount": "a=b&c=d" }',
    "{}",
  ])("%s", async (body) => {
    const id = await orders.begin({ key: crypto.randomUUID() });

    const started = await start(body);
    const sent = await orders.send(id, "note", body, { headers: form });

    for (const answer of [started, sent]) {
      expect(codeOf(answer)).toBe("400 validation.ModelValidation:Failed");
      expect(Object.values((answer.body as { errors: object }).errors)).toEqual([
        [expect.stringMatching(/\w/)],
      ]);
    }
    expect(await orders.history(id)).toHaveLength(1);
  });
});

test("multipart form data are not supported: 415", async () => {
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  const body = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n';
  const id = await orders.begin();

  expect(codeOf(await orders.start(body, { headers }))).toBe("415 notsupported.Http:415001");
  expect(codeOf(await orders.send(id, "note", body, { headers }))).toBe(
    "415 notsupported.Http:415001",
  );
});

test("__proto__ in a form is a name like any other", async () => {
  const answer = await start("attributes[__proto__][polluted]=1&attributes[a]=1");

  expect(answer.text).toContain('"__proto__":{"polluted":1}');
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});
