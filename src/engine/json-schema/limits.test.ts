/** Payloads and schemas that would hold the process, or fill its memory, without the limits here. */
import { describe, expect, test } from "vitest";
import { checkJsonSchema, compileSchema } from "../json-schema.ts";
import { leaveWithErrors } from "./bounded-errors.ts";

const times = <T>(length: number, item: T): T[] => Array.from({ length }, () => item);

describe("a payload with a million mistakes", () => {
  const text = { type: "string" };
  const branches = Array.from({ length: 20 }, (_, i) => ({ type: "string", minLength: i }));

  test.each([
    ["in its items", { items: text }],
    ["behind a reference", { items: { $ref: "#/$defs/text" }, $defs: { text } }],
    ["in every branch", { items: { anyOf: branches } }],
    ["in its members", { additionalProperties: text }],
  ])("%s is told the first ones", (_, schema) => {
    const payload = "items" in schema ? times(900_000, 1) : Object.assign({}, times(200_000, 1));

    const errors = compileSchema(schema).validate(payload);

    expect(errors).toHaveLength(1000);
    expect(errors[0]).toMatchObject({ path: "0", keyword: "type" });
  });

  test("of a branch that was tried in vain is right", () => {
    const schema = compileSchema({ anyOf: [{ items: text }, { items: { type: "number" } }] });

    expect(schema.validate(times(50_000, 1))).toEqual([]);
    expect(schema.validate([...times(50_000, 1), true])).not.toEqual([]);
  });
});

test("code of ajv in another form is noticed", () => {
  expect(() => leaveWithErrors("vErrors.push(err0); errors += 1;")).toThrow("other code");
});

describe("what one check may take", () => {
  const tooLarge = [{ path: "root", keyword: "size", message: expect.stringContaining("large") }];

  test("many subschemas for many values", () => {
    const allOf = times(900, { $ref: "#/$defs/any" });
    const schema = compileSchema({ items: { allOf }, $defs: { any: { minimum: 0 } } });

    expect(schema.validate(times(1000, 1))).toEqual([]);
    expect(schema.validate(times(100_000, 1))).toMatchObject(tooLarge);
  });

  test("a large pattern for much text", () => {
    const schema = compileSchema({ items: { pattern: "^(a|b)*a(a|b){900}[xy]$" } });

    expect(schema.validate(["ab"])).toMatchObject([{ path: "0", keyword: "pattern" }]);
    expect(schema.validate(times(2000, "ab".repeat(500)))).toMatchObject(tooLarge);
  });

  test("is opened anew for the next one", () => {
    const schema = compileSchema({ items: { pattern: "^(a|b)*a(a|b){900}[xy]$" } });

    for (let i = 0; i < 5; i += 1) expect(schema.validate(times(30, "a"))).toHaveLength(30);
  });
});

test("an enum of a hundred thousand values takes one look", () => {
  const values = Array.from({ length: 100_000 }, (_, i) => `v${i}`);
  const schema = compileSchema({ items: { enum: [...values, { a: 1, b: [2] }, null, 7, true] } });

  expect(schema.validate([...times(100_000, "v99999"), { b: [2], a: 1 }, null, 7, true])).toEqual(
    [],
  );
  expect(schema.validate(["v", { a: 1 }, "7", false, [2]])).toMatchObject(
    times(5, { keyword: "enum", message: "must be equal to one of the allowed values" }),
  );
  expect(compileSchema({ enum: ["a", 1] }).validate("b")).toMatchObject([
    { message: 'must be one of "a", 1', parameters: { enum: ["a", 1] } },
  ]);
});

describe("patterns that are refused at publish", () => {
  const messages = (schema: object) =>
    checkJsonSchema({ ...schema }).mistakes.map(({ message }) => message);

  test.each([
    ["a long one", `^(${times(2000, "abc").join("|")})$`, "more than 5000 characters"],
    ["large repeats", `^(${times(8, "a{0,900}").join("")})b$`, "repeats too much"],
    // The native engine would look for them again from every character of the text.
    ["a large repeat behind a varying one", "^.*a{5000}b$", "repeat count above 1000"],
  ])("%s", (_, pattern, expected) => {
    expect(messages({ pattern })).toEqual([expect.stringContaining(expected)]);
  });

  test("too many", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 1500 }, (_, i) => [`p${i}`, { pattern: `^(a|b)+${i}$` }]),
    );

    expect(messages({ properties })).toEqual([expect.stringContaining("too many or too large")]);
  });
});

test("a schema with a mistake per item is told some of them", () => {
  const { mistakes } = checkJsonSchema({ required: times(200_000, 1) });

  expect(mistakes.length).toBeGreaterThan(100);
  expect(mistakes.length).toBeLessThan(5000);
});
