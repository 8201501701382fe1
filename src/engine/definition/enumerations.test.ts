import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { componentSchemas } from "../../../test/support/definition-checker.ts";
import * as enumerations from "./enumerations.ts";

const ajv = new Ajv2020({ strict: true, strictTypes: false });
ajv.addVocabulary(["x-must"]);
for (const schema of Object.values(componentSchemas)) ajv.addSchema(schema);

const rows = Object.entries(enumerations).map(([name, enumeration]) => ({ name, enumeration }));

/** Every spelling that the schema lists. */
function spellingsOf(name: string): (string | number)[] {
  const common = componentSchemas["common.json"] as {
    $defs: Record<string, { anyOf: [{ enum: (string | number | null)[] }] }>;
  };
  return common.$defs[name]?.anyOf[0].enum.filter((value) => value !== null) ?? [];
}

test.each(rows)("schema and engine accept the same spellings of $name", ({ name, enumeration }) => {
  const accepts = ajv.getSchema(`/schemas/common.json#/$defs/${name}`);
  const read = (value: unknown) => enumeration.read(value) !== undefined;
  const listed = spellingsOf(name);

  const spellings = [
    ...listed,
    ...listed.map((value) => String(value).toUpperCase()),
    ...enumeration.words,
    ...enumeration.words.map((word) => `${word}Task`),
    "other",
    99,
    "",
    true,
    {},
  ];
  for (const spelling of spellings) {
    expect({ spelling, accepted: accepts?.(spelling) }).toEqual({
      spelling,
      accepted: read(spelling),
    });
  }
  expect(new Set(listed.map((value) => enumeration.read(value)))).toEqual(
    new Set(enumeration.words),
  );
});

test("the component schemas are right by their own meta-schema", () => {
  for (const schema of Object.values(componentSchemas)) {
    expect({ errors: ajv.validateSchema(schema) ? null : ajv.errors }).toEqual({ errors: null });
  }
});

test("an editor's validation of a whole file agrees with publish", () => {
  const task = {
    key: "note",
    flow: "sys-tasks",
    domain: "hr",
    version: "1.0.0",
    flowVersion: "1.0.0",
    attributes: { type: "16", config: { url: "https://x" } },
  };
  const validate = ajv.getSchema("/schemas/sys-tasks.json");

  expect(validate?.(task)).toBe(false);
  expect(validate?.({ ...task, attributes: { type: "7", config: {} } })).toBe(true);
  expect(validate?.({ ...task, flow: "sys-views" })).toBe(false);
});
