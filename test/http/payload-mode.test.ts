import { describe, expect, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
await app.publish(aWorkflow("order").state("open").transition("note", {}));
const orders = instancesOf(app, "order");

const mode = (value: string, name = "x-service-payload-mode") => ({ headers: { [name]: value } });

interface Read {
  key?: string;
  tags?: string[];
  stage?: string;
  attributes: unknown;
}

/** What a start with this body leaves, and what a transition with it leaves on a fresh instance. */
async function startWith(body: unknown, sent = {}): Promise<Read> {
  return stored(await orders.begin(body, sent));
}
async function sendWith(body: unknown, sent = {}): Promise<Read> {
  const id = await orders.begin();
  expect(await orders.send(id, "note", body, sent)).toMatchObject({ status: 200 });
  return stored(id);
}
async function stored(id: string): Promise<Read> {
  const { key, tags, metadata, attributes } = await orders.read(id);
  const { stage } = metadata;
  return {
    ...(key === undefined ? {} : { key }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(stage === undefined ? {} : { stage }),
    attributes,
  };
}

const unique = () => crypto.randomUUID();

describe.each([
  ["a start", startWith, true],
  ["a transition", sendWith, false],
] as const)("the body of %s", (_, using, keyIsBusinessKey) => {
  const keyed = (key: string) => (keyIsBusinessKey ? { key } : {});
  test("with attributes is an envelope, whatever stands beside them (rule 1)", async () => {
    const key = unique();
    const body = { key, stage: "S", tags: ["t"], attributes: { a: 1 }, other: 2 };

    expect(await using(body)).toEqual({
      ...keyed(key),
      tags: ["t"],
      stage: "S",
      attributes: { a: 1 },
    });
  });

  test("of nothing but key, tags and stage is an envelope (rule 2)", async () => {
    const key = unique();

    expect(await using({ key, tags: ["t"] })).toEqual({
      ...keyed(key),
      tags: ["t"],
      attributes: {},
    });
    expect(await using({ stage: "S" })).toEqual({ stage: "S", attributes: {} });
  });

  test("with any other name and no attributes is data (rules 3 and 4)", async () => {
    const body = { key: "in the data", amount: 5 };

    expect(await using(body)).toEqual({ attributes: body });
  });

  test.each([["{}"], [""], ["null"]])("'%s' is empty data (rule 3)", async (body) => {
    expect(await using(body)).toEqual({ attributes: {} });
  });

  test("of envelope names is data when the header says raw (rule 5)", async () => {
    const body = { key: "k", tags: ["t"], stage: "s" };
    const withAttributes = { attributes: { a: 1 } };

    expect(await using(body, mode("raw"))).toEqual({ attributes: body });
    expect(await using(withAttributes, mode(" RAW "))).toEqual({ attributes: withAttributes });
    expect(await using(body, mode("raw", "x-vnext-payload-mode"))).toEqual({ attributes: body });
  });

  test("is an envelope when the header says standard, or any other word", async () => {
    const key = unique();

    expect(await using({ key, amount: 5 }, mode("standard"))).toEqual({
      ...keyed(key),
      attributes: {},
    });
    expect(await using({ amount: 5 }, mode("whatever"))).toEqual({ attributes: {} });
  });

  test("is matched in any letter case (rules 1, 2 and 6)", async () => {
    const key = unique();
    const body = { KEY: key, Stage: "S", TAGS: ["t"], Attributes: { A: 1 } };

    expect(await using(body)).toEqual({
      ...keyed(key),
      tags: ["t"],
      stage: "S",
      attributes: { A: 1 },
    });
    expect(await using({ STAGE: "S" })).toEqual({ stage: "S", attributes: {} });
  });

  test("keeps the names of its data as they are", async () => {
    const body = { Amount: 1, "odd name": 2, ütf: 3, __proto__x: 4, constructor: 5 };

    expect(await using({ attributes: body })).toEqual({ attributes: body });
  });

  test("may hold __proto__, a name like any other", async () => {
    const text = '{"attributes":{"__proto__":{"polluted":true},"a":1}}';
    const { attributes } = await using(text);

    expect(JSON.stringify(attributes)).toBe('{"a":1,"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test("that is an array or a scalar is data only when the header says raw", async () => {
    expect(await using([1, 2], mode("raw"))).toEqual({ attributes: [1, 2] });
    expect(await using('"text"', mode("raw"))).toEqual({ attributes: "text" });
  });
});

test.each(["[1,2]", '"text"', "5", "true"])("%s without the header raw is 400", async (body) => {
  expect(codeOf(await orders.start(body))).toBe("400 validation.ModelValidation:Failed");
});

test.each([
  ["not JSON", "{a:1}", "application/json", "400 validation.Http:400002"],
  ["another content type", "<a/>", "application/xml", "415 notsupported.Http:415001"],
  ["no content type", "{}", "", "415 notsupported.Http:415001"],
])("%s is refused", async (_, body, type, code) => {
  const answer = await orders.start(body, { headers: { "content-type": type } });

  expect(codeOf(answer)).toBe(code);
});

test.each(["text/json", "application/vnd.order+json", "application/json; charset=utf-8"])(
  "%s is JSON",
  async (type) => {
    const answer = await orders.start('{"a":1}', { headers: { "content-type": type } });

    expect(answer).toMatchObject({ status: 200, body: { attributes: { a: 1 } } });
  },
);
