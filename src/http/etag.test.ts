import { expect, test } from "vitest";
import { etagOf } from "../runtime/etag-of.ts";
import { etagMatches } from "./etag.ts";

const etag = '"abc"';

test.each([
  [undefined, false],
  ["", false],
  ['"abc"', true],
  ["abc", true],
  ['W/"abc"', true],
  ['"x", "abc"', true],
  ['"x",W/"abc" , "y"', true],
  ["*", true],
  ['"abcd"', false],
  ['"ABC"', false],
  ['"x, abc"', false],
])('If-None-Match %s against "abc" matches: %s', (header, matches) => {
  expect(etagMatches(header, etag)).toBe(matches);
});

test("an ETag is 43 quoted characters and depends on every part and its place", () => {
  expect(etagOf("a", 1)).toMatch(/^"[\w-]{43}"$/);
  expect(new Set([etagOf("a", "b"), etagOf("ab", ""), etagOf("b", "a"), etagOf("a")]).size).toBe(4);
});
