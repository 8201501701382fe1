import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ExactNumber,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  setMember,
  stringifyJson,
} from "./exact-json.ts";
import { FormError, formLimits, parseForm } from "./form-body.ts";

const data = (text: string): JsonObject => parseForm(text, { envelope: false });
const envelope = (text: string, header?: string): JsonObject =>
  parseForm(text, { envelope: true, header });

function refusal(text: string | Buffer): FormError {
  try {
    parseForm(text, { envelope: false });
  } catch (error) {
    if (error instanceof FormError) return error;
    throw error;
  }
  throw new Error(`accepted: ${String(text).slice(0, 80)}`);
}

describe("shapes", () => {
  test.each<[string, unknown]>([
    ["attributes[a][b]=v", { attributes: { a: { b: "v" } } }],
    ["tags[]=x&tags[]=y", { tags: ["x", "y"] }],
    ["tags=x&tags=y", { tags: ["x", "y"] }],
    ["items[0][f]=v&items[1][f]=w", { items: [{ f: "v" }, { f: "w" }] }],
    ["items[1]=b&items[0]=a", { items: ["a", "b"] }],
    ["a[]=x", { a: ["x"] }],
    ["a[b][]=1&a[b][]=2", { a: { b: [1, 2] } }],
    ["a[0][]=1&a[0][]=2&a[1][]=3", { a: [[1, 2], [3]] }],
    ["a[b]=1&a[b]=2", { a: { b: [1, 2] } }],
    ["a[0][0]=1&a[0][1]=2", { a: [[1, 2]] }],
    ["a%5Bb%5D=1", { a: { b: 1 } }],
    ["a[b c]=1&a[1.5]=2&a[-x]=3", { a: { "b c": 1, "1.5": 2, "-x": 3 } }],
    ["", {}],
    ["&&a=1&", { a: 1 }],
    ["a", { a: "" }],
    ["a=", { a: "" }],
    ["a=b=c", { a: "b=c" }],
    ["a+b=c+d%2B", { "a b": "c d+" }],
    ["%C3%BC=%E2%82%AC&ö=ß", { ü: "€", ö: "ß" }],
  ])("%s", (text, json) => {
    expect(data(text)).toEqual(json);
  });

  test.each([
    ["items[][f]=v&items[][f]=w", "items[][f]", "indexes"],
    ["a[][]=1", "a[][]", "indexes"],
    ["a[b=c", "a[b", "not closed"],
    ["a[[b]]=c", "a[[b]]", "not closed"],
    ["a[b]c=1", "a[b]c", "text after a bracket"],
    ["a[b]]=1", "a[b]]", "text after a bracket"],
    ["a]=1", "a]", "text after a bracket"],
    ["[a]=1", "[a]", "no name"],
    ["=1", "", "no name"],
    ["items[-1]=x", "items[-1]", "negative"],
    ["items[01]=x", "items[01]", "leading zero"],
    ["items[5]=x", "items", "index 0"],
    ["items[0]=a&items[2]=b", "items", "index 1"],
    ["a[b][1]=x", "a[b]", "index 0"],
    ["items[1025]=x", "items[1025]", "1024"],
    ["items[1000000000]=x", "items[1000000000]", "1024"],
    [`items[${"9".repeat(400)}]=x`, `items[${"9".repeat(400)}]`, "1024"],
    ["a=1&a[b]=2", "a[b]", "an object of what another field makes a single value"],
    ["a[b]=2&a=1", "a", "a single value of what another field makes an object"],
    ["a[0]=x&a[k]=y", "a[k]", "an object"],
    ["a[]=x&a[0]=y", "a[0]", "a list with indexes"],
    ["a=x&a[]=y", "a[]", "a list with []"],
    ["a[0]=x&a[0]=y", "a[0]", "same index twice"],
    ["a=%", "a", "%25"],
    ["a=%zz", "a", "%25"],
    ["a=%C3", "a", "UTF-8"],
    ["a=%C0%80", "a", "UTF-8"],
    ["a=%ED%A0%80", "a", "UTF-8"],
    ["%E4=1", "%E4", "UTF-8"],
    ['a={"b":1}', "a", "application/json"],
    ["a[b]= [1,2] ", "a[b]", "application/json"],
  ])("%s is refused", (text, path, says) => {
    const error = refusal(text);

    expect(error.path).toBe(path);
    expect(error.message).toContain(says);
  });

  test("bytes are UTF-8, or refused", () => {
    expect(parseForm(Buffer.from("a=ü"), { envelope: false })).toEqual({ a: "ü" });
    expect(refusal(Buffer.from([0x61, 0x3d, 0xff])).message).toContain("not valid UTF-8");
  });

  test("limits: 10,000 fields, 64 levels, index 1024", () => {
    const fields = Array.from({ length: formLimits.pairs }, (_, i) => `f${i}=1`).join("&");
    expect(Object.keys(data(fields))).toHaveLength(10_000);
    expect(refusal(`${fields}&more=1`).message).toContain("10000");

    expect(() => data(`a${"[b]".repeat(63)}=1`)).not.toThrow();
    expect(refusal(`a${"[b]".repeat(64)}=1`).message).toContain("64");

    const items = Array.from({ length: 1025 }, (_, i) => `a[${i}]=${i}`).toReversed();
    expect((data(items.join("&"))["a"] as JsonValue[])[1024]).toBe(1024);
  });

  test("a message shows a long key or value shortened, the path in full", () => {
    const long = "k".repeat(5000);
    const error = refusal(`${long}[=1`);

    expect(error.path).toHaveLength(5001);
    expect(error.message.length).toBeLessThan(300);
  });
});

describe("values", () => {
  test.each<[string, unknown]>([
    ["12", 12],
    ["-1.5e3", -1500],
    ["true", true],
    ["false", false],
    ["null", null],
    [`"12"`, "12"],
    [`"a\\u0062\\n"`, "ab\n"],
    ["True", "True"],
    ["NaN", "NaN"],
    ["007", "007"],
    [".5", ".5"],
    ["12 ", "12 "],
    [`"open`, `"open`],
    [`"a" b`, `"a" b`],
    ["[draft] text", "[draft] text"],
    // No list that anybody means; reading it as one would take seconds.
    [`${"[".repeat(5000)}${"]".repeat(5000)}`, `${"[".repeat(5000)}${"]".repeat(5000)}`],
    ["{x}", "{x}"],
  ])("%s", (value, json) => {
    expect(data(`a=${encodeURIComponent(value)}`)).toEqual({ a: json });
  });

  test("numbers keep their digits", () => {
    expect(data("a=9007199254740993&b=0.10")).toEqual({
      a: new ExactNumber("9007199254740993"),
      b: new ExactNumber("0.10"),
    });
    expect(stringifyJson(data("a=9007199254740993&b=0.10"))).toBe(
      `{"a":9007199254740993,"b":0.10}`,
    );
  });

  test("in an envelope key, stage and tags are text whatever they look like", () => {
    expect(envelope(`Key=12&stage=true&tags=null&attributes[key]=12&attributes[tags]=1`)).toEqual({
      Key: "12",
      stage: "true",
      tags: ["null"],
      attributes: { key: 12, tags: 1 },
    });
    expect(envelope(`key="12"&tags[]={}&tags[]=1.0`)).toEqual({ key: `"12"`, tags: ["{}", "1.0"] });
    expect(envelope("tags[1]=2&tags[0]=1")).toEqual({ tags: ["1", "2"] });
    expect(envelope("key=1&other=2", "standard")).toEqual({ key: "1", other: 2 });
  });

  test("free-form data is typed, whatever it is called", () => {
    expect(envelope("key=12&tags=1&amount=5")).toEqual({ key: 12, tags: 1, amount: 5 });
    expect(envelope("key=12", "raw")).toEqual({ key: 12 });
    expect(data("key=12")).toEqual({ key: 12 });
  });

  test("__proto__ and constructor are plain members", () => {
    const body = data("__proto__[polluted]=1&a[__proto__]=2&constructor[prototype][x]=3");

    expect(JSON.stringify(body)).toBe(
      `{"__proto__":{"polluted":1},"a":{"__proto__":2},"constructor":{"prototype":{"x":3}}}`,
    );
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
  });
});

/** The fields of a tree, arrays by index and text in quotes. */
function pairsOf(value: JsonValue, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item, i) => pairsOf(item, `${path}[${i}]`));
  if (isJsonObject(value)) {
    return Object.keys(value).flatMap((n) => pairsOf(value[n]!, path === "" ? n : `${path}[${n}]`));
  }
  const text =
    typeof value === "string" ? JSON.stringify(value) : stringifyJson([value]).slice(1, -1);
  return [`${encodeURIComponent(path)}=${encodeURIComponent(text)}`];
}

describe("properties", () => {
  /** What a form can say: no empty containers, and names that are neither indexes nor brackets. */
  const name = fc.oneof(
    fc.constantFrom("__proto__", "constructor", "key", "tags", "a b", "ü", "&=+%"),
    fc.string({ unit: "grapheme", minLength: 1 }).filter((s) => !/^-?\d+$|[[\]]/.test(s)),
  );
  const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
    fc.constantFrom<JsonValue>(
      null,
      true,
      false,
      "",
      "12",
      "true",
      "[1]",
      `"q"`,
      "a+b&c=d%",
      new ExactNumber("1.10"),
    ),
    fc.integer(),
    fc.string({ unit: "grapheme" }),
  );
  const tree = fc.letrec<{ value: JsonValue; object: JsonObject; list: JsonValue[] }>((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, scalar, tie("object"), tie("list")),
    object: fc
      .uniqueArray(fc.tuple(name, tie("value")), {
        minLength: 1,
        maxLength: 4,
        selector: ([n]) => n,
      })
      .map((members) => {
        const object: JsonObject = {};
        for (const [n, value] of members) setMember(object, n, value);
        return object;
      }),
    list: fc.array(tie("value"), { minLength: 1, maxLength: 4 }),
  }));

  test("every tree that a form can say comes back, whatever the order of its fields", () => {
    fc.assert(
      fc.property(tree.object, fc.boolean(), (object, backwards) => {
        const pairs = pairsOf(object, "");

        const back = data((backwards ? pairs.toReversed() : pairs).join("&"));

        expect(back).toEqual(object);
        if (!backwards)
          expect(stringifyJson(back)).toBe(stringifyJson(parseJson(stringifyJson(object))));
      }),
      { numRuns: 200 },
    );
  });

  test("no input throws anything but FormError", () => {
    const crumbs = fc.constantFrom(
      ...Array.from('[]%=&+-01a"{}'),
      "[0]",
      "[]",
      "[-1]",
      "[999999999]",
      "__proto__",
      "a=",
      "%C3",
      "%zz",
      "attributes",
      "tags",
      "\uD800",
      '"x"',
    );
    fc.assert(
      fc.property(
        fc.array(crumbs, { maxLength: 30 }),
        fc.constantFrom(undefined, "raw", "standard"),
        (parts, header) => {
          try {
            envelope(parts.join(""), header);
          } catch (error) {
            expect(error).toBeInstanceOf(FormError);
          }
          expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
        },
      ),
      { numRuns: 1500 },
    );
  });

  test("random bytes throw nothing but FormError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          parseForm(Buffer.from(bytes), { envelope: true });
        } catch (error) {
          expect(error).toBeInstanceOf(FormError);
        }
      }),
    );
  });

  test("a bracket lost, doubled or turned around is refused", () => {
    const key = fc
      .tuple(
        fc.constantFrom("a", "tags", "ü"),
        fc.array(fc.constantFrom("[b]", "[0]", "[c d]"), { minLength: 1, maxLength: 4 }),
      )
      .map(([head, segments]) => head + segments.join(""));
    fc.assert(
      fc.property(key, fc.nat(), fc.constantFrom("lose", "double", "turn"), (whole, pick, how) => {
        const brackets = Array.from(whole).flatMap((c, i) => (c === "[" || c === "]" ? [i] : []));
        const at = brackets[pick % brackets.length]!;
        const bracket = whole[at]!;
        const other = bracket === "[" ? "]" : "[";
        const instead = { lose: "", double: bracket + bracket, turn: other }[how];

        const mutated = whole.slice(0, at) + instead + whole.slice(at + 1);

        expect(refusal(`${mutated}=1`)).toBeInstanceOf(FormError);
      }),
    );
  });
});
