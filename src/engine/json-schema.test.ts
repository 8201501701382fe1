import { describe, expect, test } from "vitest";
import { checkJsonSchema, compileSchema, SchemaMistake } from "./json-schema.ts";

const customer = compileSchema({
  type: "object",
  required: ["customer"],
  properties: {
    customer: { type: "object", required: ["ownerUserId"] },
    items: { type: "array", items: { properties: { name: { type: "string", "x-labels": {} } } } },
    kind: { enum: ["a", "b"] },
  },
  additionalProperties: false,
  minProperties: 3,
});

describe("a payload", () => {
  test("that is right has no errors", () => {
    expect(customer.validate({ customer: { ownerUserId: 1 }, items: [], kind: "a" })).toEqual([]);
  });

  test("gets the errors of the root and of its children together", () => {
    const errors = customer.validate({ customer: {}, items: [{ name: 5 }] });

    expect(errors.map(({ path, keyword }) => [path, keyword])).toEqual([
      ["root", "minProperties"],
      ["customer", "required"],
      ["items.0.name", "type"],
    ]);
  });

  test("is told which member is missing, which is too much, and which values there are", () => {
    const errors = customer.validate({ kind: "c", more: 1, a: 2 });

    expect(errors.map(({ path, message }) => [path, message])).toEqual([
      ["root", 'Required properties ["customer"] are not present'],
      ["more", "must NOT have additional properties"],
      ["a", "must NOT have additional properties"],
      ["kind", 'must be one of "a", "b"'],
    ]);
  });

  test("with an error in a conditional branch gets that error, not its echo", () => {
    const schema = compileSchema({
      if: { required: ["a"] },
      else: { required: ["b"] },
    });

    expect(schema.validate({})).toMatchObject([{ path: "root", keyword: "required" }]);
  });

  test("of another type than an object is answered too", () => {
    expect(customer.validate(5)).toMatchObject([{ path: "root", keyword: "type" }]);
    expect(compileSchema(false).validate(1)).toHaveLength(1);
    expect(compileSchema(true).validate(1)).toEqual([]);
  });
});

describe("the dialects", () => {
  const tuple = [{ type: "string" }, { type: "number" }];
  test.each([
    [undefined, { prefixItems: tuple }],
    ["https://json-schema.org/draft/2020-12/schema", { prefixItems: tuple }],
    ["http://json-schema.org/schema#", { prefixItems: tuple }],
    ["https://json-schema.org/draft/2019-09/schema", { items: tuple }],
    ["http://json-schema.org/draft-07/schema#", { items: tuple }],
    ["https://json-schema.org/draft-07/schema#", { items: tuple }],
    ["http://json-schema.org/draft-06/schema#", { items: tuple }],
    ["http://json-schema.org/draft-04/schema#", { items: tuple }],
  ])("%s is read by its own rules", ($schema, rest) => {
    const schema = { ...($schema === undefined ? {} : { $schema }), ...rest };

    expect(checkJsonSchema(schema)).toEqual({ mistakes: [], warnings: [] });
    expect(compileSchema(schema).validate(["a", "b"])).toMatchObject([{ path: "1" }]);
  });

  test("an exclusive minimum of draft-04 is a flag", () => {
    const schema = compileSchema({
      $schema: "http://json-schema.org/draft-04/schema#",
      minimum: 5,
      exclusiveMinimum: true,
    });

    expect(schema.validate(5)).toHaveLength(1);
  });

  test("an unknown one is read as 2020-12, with a warning", () => {
    const { mistakes, warnings } = checkJsonSchema({ $schema: "https://example.com/own" });

    expect(mistakes).toEqual([]);
    expect(warnings).toMatchObject([{ path: ["$schema"] }]);
  });
});

describe("a schema", () => {
  const deep = (levels: number): object =>
    levels === 0 ? {} : { properties: { a: deep(levels - 1) } };
  const doubling = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [
      `d${i}`,
      { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
    ]),
  );

  test.each<[string, Record<string, unknown>, (string | number)[], string]>([
    [
      "has known types",
      { properties: { a: { type: "strng" } } },
      ["properties", "a", "type"],
      "integer",
    ],
    ["has required names in a list", { required: "a" }, ["required"], "must be array"],
    ["has lengths of 0 or more", { items: { minLength: -1 } }, ["items", "minLength"], ">= 0"],
    [
      "has schemas for members",
      { properties: { a: 5 } },
      ["properties", "a"],
      "must be object,boolean",
    ],
    ["has an own list for enum", { enum: 5 }, ["enum"], "must be array"],
    ["has patterns that are right", { pattern: "[a" }, ["pattern"], "not a regular expression"],
    [
      "has pattern members that are right",
      { patternProperties: { "(": {} } },
      ["patternProperties", "("],
      "not a regular expression",
    ],
    ["has no back-reference", { pattern: "(a)\\1" }, ["pattern"], "back-reference"],
    ["has no look-behind with a group", { pattern: "(?<=(a))b" }, ["pattern"], "look-around"],
    ["has no look-ahead in the middle", { pattern: "^a+(?=b)" }, ["pattern"], "look-around"],
    ["refers to what is there", { $ref: "#/$defs/none" }, ["$ref"], "no schema"],
    ["refers to anchors that are there", { $ref: "#none" }, ["$ref"], "no schema"],
    ["does not refer to itself for one value", { $ref: "#" }, [], "never end"],
    [
      "does not go in circles for one value",
      {
        allOf: [{ $ref: "#/$defs/a" }],
        $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { $ref: "#/$defs/a" } },
      },
      ["$defs", "b"],
      "never end",
    ],
    [
      "does not double itself",
      { $ref: "#/$defs/d0", $defs: { ...doubling, d20: {} } },
      ["$defs", "d8"],
      "more than 10000 times",
    ],
    ["is not too deep", deep(70) as Record<string, unknown>, [], "too large"],
    ["is not too large", { allOf: Array.from({ length: 3000 }, () => ({})) }, [], "too large"],
  ])("%s", (_, schema, path, says) => {
    expect(checkJsonSchema(schema).mistakes).toEqual([
      { path, message: expect.stringContaining(says) },
    ]);
    expect(() => compileSchema(schema)).toThrow(SchemaMistake);
  });

  test("may recurse through its members", () => {
    const tree = compileSchema({
      properties: { children: { items: { $ref: "#" } }, n: { type: "number" } },
    });

    expect(tree.validate({ children: [{ children: [{ n: "x" }] }] })).toMatchObject([
      { path: "children.0.children.0.n" },
    ]);
  });

  test.each([
    ["a pointer", { $ref: "#/$defs/a%20b", $defs: { "a b": { type: "number" } } }],
    ["an anchor", { $ref: "#here", $defs: { x: { $anchor: "here", type: "number" } } }],
    [
      "an id",
      {
        $id: "https://x.y/root.json",
        $ref: "part.json",
        $defs: { p: { $id: "part.json", type: "number" } },
      },
    ],
    [
      "its own address",
      {
        $id: "https://x.y/root.json",
        $ref: "https://x.y/root.json#/$defs/a",
        $defs: { a: { type: "number" } },
      },
    ],
  ])("refers inside itself by %s", (_, schema) => {
    expect(checkJsonSchema(schema)).toEqual({ mistakes: [], warnings: [] });
    expect(compileSchema(schema).validate("x")).toHaveLength(1);
  });

  test("that refers to another document takes it as true, and says so", () => {
    const schema = {
      properties: { a: { $ref: "https://example.com/a.json#/x" }, b: { type: "number" } },
    };

    expect(checkJsonSchema(schema).warnings).toMatchObject([{ path: ["properties", "a", "$ref"] }]);
    expect(compileSchema(schema).validate({ a: 5, b: "x" })).toMatchObject([{ path: "b" }]);
  });

  test("may hold words like pattern and $ref as data and as member names", () => {
    const schema = {
      properties: { pattern: { type: "string" }, $ref: { type: "string" } },
      default: { pattern: "(", $ref: "#/nowhere" },
      enum: [{ $ref: "#/nowhere" }, {}],
    };

    expect(checkJsonSchema(schema)).toEqual({ mistakes: [], warnings: [] });
  });
});

describe("patterns", () => {
  test.each([
    ["^[a-z-]+$", "a-b", "a_b"],
    ["^\\d{11}$", "12345678901", "1234567890"],
    ["^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{8,}$", "Passw0rd", "Pass w0rd"],
    ["^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{8,}$", "LONGENOUGH1", "longenough1"],
    ["^P(?=\\d|T\\d)(\\d+D)?(T\\d+H)?$", "P1D", "P"],
    ["^(?!0+$)\\d+$", "10", "00"],
    ["(ab|cd)+$", "xxabcd", "abx"],
    ["^.{1,2000}$", "x".repeat(2000), "x".repeat(2001)],
    ["^(\\w+\\.)*\\w+@x\\.y$", "a.b@x.y", "a.b@x"],
    ["^[a\\]|(]+$", "a](|", "b"],
    ["^\\p{Lu}", "Ä", "ä"],
    ["(?<=a)b", "ab", "cb"],
    ["a\\-b", "a-b", "ab"],
  ])("%s takes %j and not %j", (pattern, right, wrong) => {
    const schema = compileSchema({ pattern });

    expect(schema.validate(right)).toEqual([]);
    expect(schema.validate(wrong)).toHaveLength(1);
  });

  test("are told apart inside one schema", () => {
    const schema = compileSchema({
      properties: { a: { pattern: "(x|y)$" }, b: { pattern: "(z)$" } },
    });

    expect(schema.validate({ a: "x", b: "x" })).toMatchObject([{ path: "b" }]);
  });

  test.each([
    "^(a+)+$",
    "(a|a)*$",
    "^(?=(a+)+$).*$",
    "(.*a){20}$",
    "^a?a?a?a?a?a?a?a?a?a?a?a?a?a?$",
  ])("%s answers at once, whatever the text", (pattern) => {
    const schema = compileSchema({ pattern });
    const started = performance.now();
    schema.validate(`${"a".repeat(20_000)}!`);

    // Backtracking would take years.
    expect(performance.now() - started).toBeLessThan(60_000);
  });
});

test("uniqueItems compares content, and fifty thousand objects at once", () => {
  const schema = compileSchema({ uniqueItems: true });
  const many = Array.from({ length: 50_000 }, (_, i) => ({ id: i }));
  const started = performance.now();

  expect(schema.validate(many)).toEqual([]);
  expect(performance.now() - started).toBeLessThan(60_000);
  expect(
    schema.validate([
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]),
  ).toHaveLength(1);
  expect(schema.validate([1, "1", [1], true, null])).toEqual([]);
});

test("formats are checked, unknown ones are not", () => {
  expect(compileSchema({ format: "uuid" }).validate("x")).toHaveLength(1);
  expect(compileSchema({ format: "iban" }).validate("x")).toEqual([]);
});

test("two schemas with one $id do not meet", () => {
  const $id = "https://x.y/same.json";

  expect(compileSchema({ $id, type: "string" }).validate(1)).toHaveLength(1);
  expect(compileSchema({ $id, type: "number" }).validate(1)).toEqual([]);
});

/** A row of `$defs`, each referring to the one that `next` says. */
const row = (next: (i: number) => number) => ({
  $ref: "#/$defs/d700",
  $defs: Object.fromEntries(
    Array.from({ length: 1402 }, (_, i) => [
      `d${i}`,
      i % 1401 === 0 ? {} : { $ref: `#/$defs/d${next(i)}` },
    ]),
  ),
});

test("a long row of references is refused, in whatever order it is written", () => {
  for (const schema of [row((i) => i + 1), row((i) => i - 1)]) {
    expect(checkJsonSchema(schema).mistakes).toMatchObject([
      { message: expect.stringContaining("more than 200 references") },
    ]);
  }
});
