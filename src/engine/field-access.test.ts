import { describe, expect, test } from "vitest";
import { anInstance, programOf } from "../../test/support/a-run.ts";
import { aWorkflow } from "../../test/support/a-workflow.ts";
import { numberFromLiteral, parseJson, type JsonValue } from "./exact-json.ts";
import { compileFieldAccess, type FieldAccess } from "./field-access.ts";
import type { RoleCaller } from "./role-gate.ts";

const instance = anInstance(programOf(aWorkflow("loan").state("draft")), {
  createdBy: { actor: "starter", behalfOf: "customer" },
  data: { owner: "ann" },
});
const having = (...roles: string[]): RoleCaller => ({
  roles,
  author: { actor: undefined, behalfOf: undefined },
  instance,
});
const nobody = having();
const as = (actor: string): RoleCaller => ({ ...nobody, author: { actor, behalfOf: undefined } });

const allow = (role: string) => [{ role, grant: "allow" }];
const deny = (role: string) => [{ role, grant: "deny" }];
const hidden = { "x-roles": allow("auditor") };

function accessOf(schema: object): FieldAccess {
  const access = compileFieldAccess(schema);
  if (access === undefined) throw new Error("the schema has no rule");
  return access;
}

const seen = (schema: object, data: JsonValue, caller: RoleCaller) =>
  accessOf(schema).visible(data, caller);

describe("x-roles", () => {
  const schema = {
    properties: {
      note: { type: "string", ...hidden },
      client: { properties: { iban: hidden, name: { type: "string" } } },
    },
  };
  const data = { note: "n", client: { iban: "TR1", name: "Ann" }, amount: 5 };

  test("a property is there for the roles it allows", () => {
    expect(seen(schema, data, having("Auditor"))).toBe(data);
  });

  test("for others it is not, at any depth, and the rest is", () => {
    expect(seen(schema, data, nobody)).toEqual({ client: { name: "Ann" }, amount: 5 });
  });

  test("the older name 'roles' means the same", () => {
    const older = { properties: { note: { roles: allow("auditor") } } };

    expect(seen(older, data, nobody)).not.toHaveProperty("note");
    expect(seen(older, data, having("auditor"))).toHaveProperty("note");
  });

  test("other things called 'roles' are no rule", () => {
    expect(compileFieldAccess({ properties: { note: { roles: ["a"] } } })).toBeUndefined();
  });

  test("a property that is called like a keyword is a property", () => {
    const named = { properties: { "x-roles": { type: "string" }, roles: { type: "array" } } };

    expect(compileFieldAccess(named)).toBeUndefined();
  });

  test("a deny takes it from its role alone", () => {
    const denied = { properties: { note: { "x-roles": deny("guest") } } };

    expect(seen(denied, data, having("guest"))).not.toHaveProperty("note");
    expect(seen(denied, data, having("clerk"))).toHaveProperty("note");
  });

  test("people known to the instance are asked of the instance, not of the part that is shown", () => {
    const own = {
      properties: { note: { "x-roles": allow("$user.$.context.Instance.Data.owner") } },
    };

    expect(seen(own, { note: "n" }, as("ann"))).toEqual({ note: "n" });
    expect(seen(own, { note: "n", owner: "bob" }, as("bob"))).toEqual({ owner: "bob" });
  });

  test("items of a list that may not be seen are left out", () => {
    const list = { properties: { lines: { items: { properties: { cost: hidden } } } } };
    const tuple = { properties: { pair: { prefixItems: [{}, hidden] } } };

    expect(seen(list, { lines: [{ cost: 1, n: 1 }, { n: 2 }] }, nobody)).toEqual({
      lines: [{ n: 1 }, { n: 2 }],
    });
    expect(seen(tuple, { pair: [1, 2, 3] }, nobody)).toEqual({ pair: [1, 3] });
  });

  test.each<[string, object]>([
    ["a reference", { $defs: { n: hidden }, properties: { note: { $ref: "#/$defs/n" } } }],
    ["allOf", { allOf: [{ properties: { note: hidden } }] }],
    [
      "a branch of anyOf that the value does not take",
      { anyOf: [{ properties: { note: hidden } }, {}] },
    ],
    ["a condition that does not hold", { if: true, else: { properties: { note: hidden } } }],
    ["a pattern", { patternProperties: { "^no": hidden } }],
    [
      "all other properties",
      { properties: { amount: {}, client: {} }, additionalProperties: hidden },
    ],
  ])("a rule holds behind %s", (_, behind) => {
    expect(seen(behind, data, nobody)).not.toHaveProperty("note");
    expect(seen(behind, data, nobody)).toHaveProperty("amount");
    expect(seen(behind, data, having("auditor"))).toBe(data);
  });

  test("a recursive schema rules every level of the data", () => {
    const tree = {
      $id: "https://example.com/tree",
      properties: { secret: hidden, child: { $ref: "#" } },
    };
    const deep = { secret: 1, child: { secret: 2, child: { secret: 3, n: 4 } } };

    expect(seen(tree, deep, nobody)).toEqual({ child: { child: { n: 4 } } });
  });

  test("a rule on the root hides everything", () => {
    expect(seen(hidden, data, nobody)).toBeUndefined();
  });

  test.each([["text"], [{}], [["auditor"]]])("what is no list of grants (%j) hides", (roles) => {
    const broken = { properties: { note: { "x-roles": roles } } };

    expect(seen(broken, data, having("auditor"))).not.toHaveProperty("note");
  });

  test("a member called __proto__ stays a member", () => {
    const sent = parseJson('{"__proto__":{"a":1},"note":"n"}');

    const shown = seen(schema, sent, nobody) as object;

    expect(Object.keys(shown)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(shown)).toBe(Object.prototype);
  });
});

describe("x-masking", () => {
  const masked = (masking: unknown, value: JsonValue, caller = nobody) =>
    (seen({ properties: { v: { "x-masking": masking } } }, { v: value }, caller) as { v: unknown })
      .v;
  const ends = { operator: "mask", params: { keepFirst: 2, keepLast: 4 } };

  test.each<[string, unknown, JsonValue, unknown]>([
    ["keeps both ends", ends, "TR330006100519", "TR********0519"],
    ["masks all of it without ends to keep", { operator: "mask" }, "secret", "******"],
    [
      "masks with another character",
      { operator: "mask", params: { maskingChar: "•" } },
      "ab",
      "••",
    ],
    ["masks whole what is too short to keep anything back", ends, "abcdef", "******"],
    [
      "counts characters, not their halves",
      { operator: "mask", params: { keepFirst: 1 } },
      "😀ab",
      "😀**",
    ],
    ["leaves nothing as nothing", ends, null, null],
    ["masks the digits of a number", { operator: "mask", params: { keepLast: 2 } }, 1234, "**34"],
    [
      "masks an exact number",
      ends,
      numberFromLiteral("12345678901234567890"),
      "12**************7890",
    ],
    ["masks what has members as a whole", ends, { a: 1 }, "***"],
    ["masks a list as a whole", ends, ["a", "b"], "***"],
    ["replaces", { operator: "replace", params: { value: "[hidden]" } }, "secret", "[hidden]"],
    ["replaces whatever it is", { operator: "replace", params: { value: "-" } }, { a: 1 }, "-"],
    ["masks all of it for an operator nobody knows", { operator: "hash" }, "secret", "******"],
    ["masks all of it for what is no object", "mask", "secret", "******"],
  ])("%s", (_, masking, value, expected) => {
    expect(masked(masking, value)).toEqual(expected);
  });

  test("who matches one of its roles sees the value", () => {
    const masking = { ...ends, roles: [...allow("auditor"), ...allow("$InstanceStarter")] };

    expect(masked(masking, "TR330006100519", having("AUDITOR"))).toBe("TR330006100519");
    expect(masked(masking, "TR330006100519", as("starter"))).toBe("TR330006100519");
    expect(masked(masking, "TR330006100519", having("audtor"))).toBe("TR********0519");
  });

  test("a deny among its roles uncovers nothing", () => {
    expect(masked({ ...ends, roles: deny("guest") }, "TR330006100519", having("clerk"))).toBe(
      "TR********0519",
    );
  });

  test("what is hidden is hidden, masked or not", () => {
    const both = { properties: { v: { ...hidden, "x-masking": ends } } };

    expect(seen(both, { v: "x" }, nobody)).toEqual({});
    expect(seen(both, { v: "TR330006100519" }, having("auditor"))).toEqual({ v: "TR********0519" });
  });
});

describe("what a caller may ask about", () => {
  const access = accessOf({
    properties: {
      note: hidden,
      iban: { "x-masking": { operator: "mask", roles: allow("auditor") } },
      lines: { items: { properties: { cost: hidden, n: {} } } },
      own: { "x-roles": allow("$InstanceStarter") },
      notMine: { "x-roles": deny("$InstanceStarter") },
    },
  });

  test.each([
    ["note", false],
    ["note.inside", false],
    ["iban", false],
    ["amount", true],
    ["lines", false],
    ["lines.cost", false],
    ["lines.n", true],
    ["own", false],
    ["notMine", false],
  ])("%s is open to a caller without roles: %s", (path, expected) => {
    expect(access.isOpen(path.split("."), nobody)).toBe(expected);
  });

  test.each(["note", "iban", "lines", "lines.cost"])("%s is open to an auditor", (path) => {
    expect(access.isOpen(path.split("."), having("auditor"))).toBe(true);
  });
});

describe("the signature", () => {
  const access = accessOf({
    properties: { a: hidden, b: { "x-masking": { operator: "mask", roles: allow("auditor") } } },
  });

  test("is empty for who sees everything", () => {
    expect(access.signature(having("auditor"))).toBe("");
  });

  test("is the same for callers who see the same, and differs otherwise", () => {
    const other = accessOf({ properties: { a: hidden, b: { "x-roles": allow("clerk") } } });

    expect(access.signature(nobody)).toBe(access.signature(having("clerk")));
    expect(other.signature(nobody)).not.toBe(other.signature(having("clerk")));
    expect(other.signature(having("clerk"))).not.toBe(other.signature(having("auditor")));
  });
});

test("the schema itself is shown without what the caller may not see", () => {
  const schema = {
    $defs: { secret: hidden },
    type: "object",
    required: ["a", "b"],
    properties: {
      a: hidden,
      b: { properties: { c: { $ref: "#/$defs/secret" }, d: {} }, required: ["c", "d"] },
    },
  };

  expect(accessOf(schema).visibleSchema(nobody)).toEqual({
    ...schema,
    required: ["b"],
    properties: { b: { properties: { d: {} }, required: ["d"] } },
  });
  expect(accessOf(schema).visibleSchema(having("auditor"))).toEqual(schema);
});

test("a schema without rules costs nothing: there is no access to ask", () => {
  expect(compileFieldAccess({ properties: { a: { type: "string" } } })).toBeUndefined();
  expect(compileFieldAccess(true)).toBeUndefined();
});
