import { expect, test } from "vitest";
import { compileExpression, evaluateKey } from "./compile-expression.ts";
import type { ExpressionContext } from "./expression-context.ts";
import { varyByHeaderPrefixesKey, varyByHeadersKey } from "./key-functions.ts";

const instance = {
  Id: "1",
  Key: "k",
  Flow: "f",
  CurrentState: null,
  EffectiveState: null,
  EffectiveStateType: null,
  EffectiveStateSubType: null,
};

const base: ExpressionContext = {
  Body: null,
  Headers: { "x-tenant": "t1", "X-Flag-B": "2", "x-flag-a": "1", accept: "json" },
  QueryParameters: {},
  RouteValues: {},
  MetaData: {},
  CurrentTransition: null,
  Workflow: null,
  Instance: { ...instance, Data: {} },
  Transition: null,
  Runtime: null,
};

const key = (source: string, change: Partial<ExpressionContext> = {}): string =>
  evaluateKey(compileExpression(source, "key"), { ...base, ...change });

test("sha256 is lower-case hexadecimal of the text's UTF-8", () => {
  expect(key('sha256("abc")')).toBe(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  expect(key("sha256(null)")).toBe(key('sha256("")'));
  expect(key('"c:" + sha256("ü")')).toMatch(/^c:[\da-f]{64}$/);
});

test("varyKey takes every header when nothing says which matter", () => {
  expect(key("varyKey()")).toBe("v=latest|accept=json|x-flag-a=1|x-flag-b=2|x-tenant=t1");
  expect(key("varyKey(context)")).toBe(key("varyKey()"));
  expect(key("varyKey()", { Headers: null })).toBe("v=latest|");
});

test("varyKey takes the function's headers and those with its prefixes", () => {
  const MetaData = {
    [varyByHeadersKey]: ["X-Tenant", "x-absent", " ", 5],
    [varyByHeaderPrefixesKey]: ["X-FLAG-"],
  };

  expect(key("varyKey()", { MetaData })).toBe(
    "v=latest|x-absent=|x-flag-a=1|x-flag-b=2|x-tenant=t1",
  );
});

test("varyKey takes the names in the instance's data before all others, each once", () => {
  const Instance = { ...instance, Data: { VaryBy: ["X-Tenant", " x-tenant ", "accept"] } };
  const MetaData = { [varyByHeadersKey]: ["x-flag-a"] };

  expect(key("varyKey()", { Instance, MetaData })).toBe("v=latest|accept=json|x-tenant=t1");
});

test("varyKey begins with the version that was asked for", () => {
  const change = { Headers: {}, QueryParameters: { Version: "1.2.0" } };

  expect(key("varyKey()", change)).toBe("v=1.2.0|");
});
