import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../../src/engine/exact-json.ts";
import { mergeData } from "../../../src/engine/merge-data.ts";
import { mergeBody } from "../../../src/scripting/prelude/merge.ts";

test.each([
  ["objects merge", { a: { x: 1 }, b: 1 }, { a: { y: 2 } }, { a: { x: 1, y: 2 }, b: 1 }],
  ["lists are replaced", { a: [1, 2] }, { a: [3] }, { a: [3] }],
  ["null leaves the target", { a: 1 }, { a: null }, { a: 1 }],
  ["null target takes the source", null, { a: 1 }, { a: 1 }],
  ["a new null member", {}, { a: null }, { a: null }],
  ["scalars are replaced", { a: 1 }, { a: "x" }, { a: "x" }],
  ["another type wins", [1], { a: 1 }, { a: 1 }],
  ["nothing to merge", undefined, undefined, null],
])("%s", (_, target, source, merged) => {
  expect(mergeBody(target, source)).toEqual(merged);
});

test("merges as the engine merges instance data", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const [target, source] = [a, b].map((value) => JSON.parse(JSON.stringify(value)));
      expect(mergeBody(target, source)).toEqual(
        mergeData(target as JsonValue, source as JsonValue),
      );
    }),
  );
});

test("__proto__ is a name like any other", () => {
  const merged = mergeBody({}, JSON.parse('{"__proto__":{"polluted":true}}')) as object;

  expect(Object.keys(merged)).toEqual(["__proto__"]);
  expect({}).not.toHaveProperty("polluted");
});
