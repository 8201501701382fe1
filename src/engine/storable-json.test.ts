import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson } from "./exact-json.ts";
import { findUnstorable, mayBeUnstorable } from "./storable-json.ts";

const bytes = (text: string) => Buffer.from(text);

test.each([
  ['{"a":"x\\u0000y"}', "a"],
  ['{"a":{"b":["",{"\\u0000":1}]}}', "a.b.1.\u0000"],
  ['{"a":"\\ud800"}', "a"],
  ['{"a":"x\\udc00"}', "a"],
  ['{"a":1e401}', "a"],
  ['{"a":[1,1E-999999999]}', "a.1"],
  [`{"a":${"9".repeat(10_001)}}`, "a"],
  [`[${"1e300,".repeat(4000)}0]`, "3333"],
  ['"\\u0000"', ""],
])("%.40s cannot be kept", (json, path) => {
  expect(findUnstorable(parseJson(json))?.path).toBe(path);
  expect(mayBeUnstorable(bytes(json))).toBe(true);
});

test.each([
  '{"a":"\\ud83d\\ude00","b":"é","c":null,"d":[true,false]}',
  '{"a":9007199254740993,"b":0.10,"c":1e5,"d":1e-300,"e":-0}',
  '{"a":"\\\\u0000 is only a backslash"}',
  "{}",
])("%s can", (json) => {
  expect(findUnstorable(parseJson(json))).toBeUndefined();
});

test.each(['{"name":"Ada","amount":12.50,"at":"2026-01-01T10:00:00Z"}', '"two"', "[0]"])(
  "%s needs no closer look",
  (json) => {
    expect(mayBeUnstorable(bytes(json))).toBe(false);
  },
);

test("what needs no closer look can be kept", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      fc.pre(!mayBeUnstorable(bytes(json)));
      expect(findUnstorable(parseJson(json))).toBeUndefined();
    }),
  );
});
