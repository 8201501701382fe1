import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type JsonObject, parseJson } from "./exact-json.ts";
import { PayloadError, resolvePayload, resolvePayloadMode } from "./payload-mode.ts";

const errorsOf = (body: unknown, header?: string) => {
  const result = resolvePayload(body, header, "start");
  return result instanceof PayloadError ? result.errors : undefined;
};

describe("the shape rule, without a header", () => {
  test.each([
    ["1: attributes makes an envelope", { attributes: { a: 1 } }, { attributes: { a: 1 } }],
    ["1: even with other members", { attributes: { a: 1 }, other: 2 }, { attributes: { a: 1 } }],
    ["1: in any case", { ATTRIBUTES: { a: 1 }, Key: "k" }, { key: "k", attributes: { a: 1 } }],
    [
      "2: only key, tags, stage",
      { key: "k", tags: ["t"], stage: "s" },
      { key: "k", tags: ["t"], stage: "s", attributes: {} },
    ],
    ["2: in any case", { KEY: "k", sTaGe: "s" }, { key: "k", stage: "s", attributes: {} }],
    ["3: any other member", { key: "k", amount: 1 }, { attributes: { key: "k", amount: 1 } }],
    ["3: an empty body", {}, { attributes: {} }],
    ["3: no body", undefined, { attributes: {} }],
    ["3: null", null, { attributes: {} }],
    [
      "4: attributes deeper down",
      { a: { attributes: 1 } },
      { attributes: { a: { attributes: 1 } } },
    ],
    ["a Kelvin sign is not a k", { "\u212Aey": "k" }, { attributes: { "\u212Aey": "k" } }],
  ])("%s", (_, body, payload) => {
    expect(resolvePayload(body, undefined, "start")).toEqual(payload);
    expect(resolvePayload(body, " ", "transition")).toEqual(payload);
  });
});

describe("the header", () => {
  test.each([
    ["raw", { attributes: { a: 1 }, key: "k" }, { attributes: { attributes: { a: 1 }, key: "k" } }],
    ["RAW", { key: "k" }, { attributes: { key: "k" } }],
    ["raw", [1, 2], { attributes: [1, 2] }],
    ["raw", "text", { attributes: "text" }],
    ["raw", false, { attributes: false }],
    ["standard", { a: 1 }, { attributes: {} }],
    ["Standard", { key: "k", a: 1 }, { key: "k", attributes: {} }],
    ["anything", { a: 1, stage: "s" }, { stage: "s", attributes: {} }],
    ["standard", undefined, { attributes: {} }],
  ])("%s with %j", (header, body, payload) => {
    expect(resolvePayload(body, header, "transition")).toEqual(payload);
  });

  test("arrays and scalars need raw", () => {
    for (const body of [[1], "text", 5, true, parseJson("1.10")]) {
      expect(Object.keys(errorsOf(body) ?? {})).toEqual(["body"]);
      expect(Object.keys(errorsOf(body, "standard") ?? {})).toEqual(["body"]);
    }
    expect(errorsOf([1])?.["body"]?.[0]).toContain("x-service-payload-mode: raw");
  });
});

describe("the envelope", () => {
  test("key has at most 100 and stage at most 120 characters", () => {
    const atLimit = { key: "k".repeat(100), stage: "s".repeat(120) };

    expect(resolvePayload(atLimit, undefined, "start")).toEqual({ ...atLimit, attributes: {} });
    expect(errorsOf({ key: "k".repeat(101), stage: "s".repeat(121) })).toEqual({
      key: [expect.stringContaining("101 characters; at most 100")],
      stage: [expect.stringContaining("121 characters; at most 120")],
    });
  });

  test("everything that is wrong is said at once, by path", () => {
    const body = parseJson(
      `{"Key":9007199254740993,"stage":{"a":1},"tags":["ok",5,null],"attributes":{}}`,
    );

    expect(errorsOf(body)).toEqual({
      key: [expect.stringContaining("the number 9007199254740993")],
      stage: [expect.stringContaining("an object")],
      "tags[1]": [expect.stringContaining("the number 5")],
      "tags[2]": [expect.stringContaining("null")],
    });
    expect(Object.keys(errorsOf({ tags: "a" }) ?? {})).toEqual(["tags"]);
  });

  test("null and blank members count as absent", () => {
    const body = { key: " ", stage: "", tags: null, attributes: null };

    expect(resolvePayload(body, undefined, "start")).toEqual({ attributes: {} });
  });

  test("attributes may be any JSON", () => {
    for (const attributes of [[1], "text", 0, false]) {
      expect(resolvePayload({ attributes }, undefined, "start")).toEqual({ attributes });
    }
  });

  test("of several spellings camelCase wins, else the last", () => {
    expect(resolvePayload({ key: "exact", KEY: "other" }, undefined, "start")).toMatchObject({
      key: "exact",
    });
    expect(resolvePayload({ KEY: "first", Key: "last" }, undefined, "start")).toMatchObject({
      key: "last",
    });
  });

  test("a member __proto__ is data", () => {
    const body = parseJson(`{"__proto__":{"key":"k"}}`) as JsonObject;

    expect(resolvePayload(body, undefined, "start")).toEqual({ attributes: body });
    expect(resolvePayload(body, "standard", "start")).toEqual({ attributes: {} });
  });
});

test("raw keeps every body as it is; without it, names in another case change nothing", () => {
  const names = fc.constantFrom("key", "tags", "stage", "attributes", "other");
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), (body) => {
      const shouted = Object.keys(body).map((name) => name.toUpperCase());

      expect(resolvePayload(body, "raw", "start")).toEqual({ attributes: body });
      expect(resolvePayloadMode(undefined, shouted)).toBe(
        resolvePayloadMode(undefined, Object.keys(body)),
      );
    }),
  );
});
