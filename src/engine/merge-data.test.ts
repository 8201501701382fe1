import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ExactNumber, jsonEquals, type JsonValue, parseJson, stringifyJson } from "./exact-json.ts";
import { mergeData } from "./merge-data.ts";

const merged = (base: string, delta: string): string =>
  stringifyJson([mergeData(parseJson(base), parseJson(delta))]).slice(1, -1);

const anyJson = fc.jsonValue({ maxDepth: 4 }).map((value) => value as JsonValue);

/** Data can hold null, but a write of null changes nothing, so some laws hold only without it. */
const withoutNull = (value: JsonValue): boolean => !JSON.stringify(value).includes("null");

const nest = (leaf: string) => `${`{"a":`.repeat(511)}${leaf}${"}".repeat(511)}`;

describe("merging data", () => {
  test.each([
    [
      `{"a":{"x":1,"y":2},"l":[1,2]}`,
      `{"a":{"y":null,"z":3},"l":[9]}`,
      `{"a":{"x":1,"y":2,"z":3},"l":[9]}`,
    ],
    [`{"a":1}`, `{"a":null}`, `{"a":1}`],
    [`{"a":1}`, `{"b":null}`, `{"a":1,"b":null}`],
    [`{"a":null}`, `{"a":{"b":null}}`, `{"a":{"b":null}}`],
    [`{"a":[1,2,3]}`, `{"a":[]}`, `{"a":[]}`],
    [`{"a":{"b":1}}`, `{"a":"text"}`, `{"a":"text"}`],
    [`{"a":"text"}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`],
    [`{"a":[1]}`, `{"a":{"0":1}}`, `{"a":{"0":1}}`],
    [`null`, `{"a":1}`, `{"a":1}`],
    [`{"a":1}`, `null`, `{"a":1}`],
    [`{"a":1}`, `[1]`, `[1]`],
  ])("%s with %s is %s", (base, delta, result) => {
    expect(merged(base, delta)).toBe(result);
  });

  test("a number that differs only in its decimals is written", () => {
    expect(merged(`{"price":1.1}`, `{"price":1.10}`)).toBe(`{"price":1.10}`);
    expect(merged(`{"id":9007199254740993}`, `{"id":9007199254740992}`)).toBe(
      `{"id":9007199254740992}`,
    );
  });

  test("exact numbers are values, not objects to be merged", () => {
    const exact = new ExactNumber("1.10");

    expect(mergeData({ a: { text: 1 } }, { a: exact })).toEqual({ a: exact });
    expect(mergeData({ a: exact }, { a: { text: 1 } })).toEqual({ a: { text: 1 } });
  });

  test("__proto__ and constructor are plain members", () => {
    const result = merged(
      `{"__proto__":{"a":1}}`,
      `{"__proto__":{"b":2},"constructor":{"prototype":{"c":3}}}`,
    );

    expect(result).toBe(`{"__proto__":{"a":1,"b":2},"constructor":{"prototype":{"c":3}}}`);
    expect(({} as Record<string, unknown>)["b"]).toBeUndefined();
    expect(merged(`{}`, `{"__proto__":{"b":2}}`)).toBe(`{"__proto__":{"b":2}}`);
    expect(merged(`{"a":1}`, `{"toString":null}`)).toBe(`{"a":1,"toString":null}`);
  });

  test("what does not change is shared, and base comes back when nothing changes", () => {
    const base = parseJson(`{"a":{"x":[1,{"p":1.50}]},"b":{"y":2}}`) as {
      a: JsonValue;
      b: JsonValue;
    };

    expect(mergeData(base, parseJson(`{"b":{"y":2},"a":{"x":[1,{"p":1.50}]}}`))).toBe(base);
    expect((mergeData(base, { b: { y: 3 } }) as typeof base).a).toBe(base.a);
  });

  test("no input is changed, and merging the same again changes nothing", () => {
    fc.assert(
      fc.property(anyJson, anyJson, (base, delta) => {
        const before = JSON.stringify([base, delta]);

        const once = mergeData(base, delta);

        expect(JSON.stringify([base, delta])).toBe(before);
        expect(mergeData(once, delta)).toBe(once);
      }),
    );
  });

  test("a write onto nothing is the write, and everything written can be read", () => {
    fc.assert(
      fc.property(anyJson, anyJson.filter(withoutNull), (base, delta) => {
        expect(jsonEquals(mergeData(null, delta), delta)).toBe(true);
        expect(mergeData(mergeData(base, delta), delta)).toEqual(mergeData(base, delta));
      }),
    );
  });

  test("512 levels merge", () => {
    expect(merged(nest(`{"x":1}`), nest(`{"y":2.0}`))).toBe(nest(`{"x":1,"y":2.0}`));
  });
});
