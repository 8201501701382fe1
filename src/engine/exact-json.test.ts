import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalText,
  ExactNumber,
  isExactNumber,
  isNested,
  jsonEquals,
  JsonError,
  type JsonObject,
  type JsonValue,
  numberFromLiteral,
  parseJson,
  stringifyJson,
  toPlain,
} from "./exact-json.ts";

const roundTrip = (text: string): string => stringifyJson([parseJson(text)]).slice(1, -1);

function refusal(text: string, maxDepth?: number): JsonError {
  try {
    parseJson(text, maxDepth);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
  throw new Error(`accepted: ${text.slice(0, 80)}`);
}

/** Value and decimals of a literal as jsonb keeps them, by way of BigInt instead of our own code. */
function numericOf(literal: string): { value: bigint; decimals: number } {
  const [mantissa = "", exponent = "0"] = literal.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const shift = Number(exponent) - fraction.length;
  return {
    value: BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, shift)),
    decimals: Math.max(0, -shift),
  };
}

function haveSameValue(a: string, b: string): boolean {
  const [left, right] = [numericOf(a), numericOf(b)];
  return left.value * 10n ** BigInt(right.decimals) === right.value * 10n ** BigInt(left.decimals);
}

const digits = (min: number, max: number) =>
  fc
    .array(fc.constantFrom(...Array.from("0123456789")), { minLength: min, maxLength: max })
    .map((d) => d.join(""));

const anyLiteral = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(
      fc.constant("0"),
      digits(1, 25).map((d) => d.replace(/^0+/, "") || "7"),
    ),
    fc.oneof(
      fc.constant(""),
      digits(1, 25).map((d) => `.${d}`),
      digits(0, 4).map((d) => `.${d}0`),
    ),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant("") },
      fc
        .tuple(fc.constantFrom("e", "E"), fc.constantFrom("", "-", "+"), digits(1, 3))
        .map((parts) => parts.join("")),
    ),
  )
  .map((parts) => parts.join(""));

describe("numbers come back as they were sent", () => {
  test.each([
    "9007199254740993",
    "-9007199254740993",
    "12345678901234567890",
    "100000000000000000000000",
    "1.0",
    "0.0",
    "-0.0",
    "1.10",
    "100.00",
    "0.1000000000000000055",
    "1234567890.12345678",
    "0.0000001",
    "1e400",
    "-1E+400",
    "1e-400",
    "4e-324",
    "1.10e0",
    "1.0e-5",
    "123456789012345678e-3",
    "9e999999999999999999999",
  ])("%s", (literal) => {
    for (const text of [
      literal,
      `[${literal}]`,
      `{"a":${literal}}`,
      `[1,${literal}]`,
      `["x",${literal},{}]`,
    ]) {
      expect(roundTrip(text)).toBe(text);
    }
    expect(parseJson(` \n${literal}\t`)).toEqual(new ExactNumber(literal));
    expect(roundTrip(`{ "a" : ${literal} , "b" :\r\n${literal}\n}`)).toBe(
      `{"a":${literal},"b":${literal}}`,
    );
  });

  test.each([
    ["1e5", "100000"],
    ["1E+2", "100"],
    ["1.5e3", "1500"],
    ["10e-1", "1"],
    ["0e-1", "0"],
    ["-0", "0"],
    ["1e21", "1e+21"],
    ["1e-7", "1e-7"],
  ])("%s may be written out: %s", (literal, spelled) => {
    expect(roundTrip(`[${literal}]`)).toBe(`[${spelled}]`);
  });

  test.each([
    "0",
    "-1",
    "123456789012345",
    "9007199254740992",
    "1700000000000000",
    "0.1",
    "12.34",
    "0.30000000000000004",
    "0.000001",
  ])("%s is a plain number", (literal) => {
    expect(parseJson(`[${literal}]`)).toEqual([Number(literal)]);
    expect(numberFromLiteral(literal)).toBe(Number(literal));
  });

  test("every literal comes back with its value and its decimals, wherever it stands", () => {
    const place = fc.constantFrom(
      (n: string) => n,
      (n: string) => `[${n}]`,
      (n: string) => `[1,${n},"1.10"]`,
      (n: string) => `{"some name":${n}}`,
      (n: string) => `[1.25,2.5,${n},3.75]`,
      (n: string) => `["text ending in 1.","x",\n${n}\n]`,
      (n: string) => `{"id":"1234567890123456789","at":"2024-01-01T00:00:00.000Z","n": ${n} }`,
      (n: string) => `["\u{1F600}\u2030",${n}]`,
    );
    fc.assert(
      fc.property(anyLiteral, place, (literal, put) => {
        const [before, after] = put("#").replaceAll(/\s/g, "").split("#") as [string, string];

        const back = roundTrip(put(literal)).replaceAll(/\s/g, "");

        expect(back.startsWith(before) && back.endsWith(after)).toBe(true);
        const spelled = back.slice(before.length, back.length - after.length);
        expect(haveSameValue(spelled, literal)).toBe(true);
        // Only an integer with an exponent may lose the decimals that its exponent made.
        if (!/^-?\d+[eE]/.test(literal)) {
          expect(numericOf(spelled).decimals).toBe(numericOf(literal).decimals);
        }
        if (!/[eE]/.test(literal) && literal !== "-0") expect(spelled).toBe(literal);
      }),
      { numRuns: 1500 },
    );
  });
});

describe("reading", () => {
  const documents = fc.json({ maxDepth: 5, stringUnit: "grapheme" });

  test("an ordinary document is what JSON.parse makes of it", () => {
    fc.assert(
      fc.property(documents, (text) => {
        expect(toPlain(parseJson(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("the exact way reads everything else as JSON.parse does", () => {
    fc.assert(
      fc.property(documents, (text) => {
        const [exact, value] = parseJson(`[1.10, ${text}]`) as [JsonValue, JsonValue];

        expect(exact).toEqual(new ExactNumber("1.10"));
        expect(toPlain(value)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("a text is refused exactly when JSON.parse refuses it, with a JsonError that says where", () => {
    const crumbs = fc.constantFrom(
      ...Array.from('{}[]:,"\\/ \n\t-+.eE0123u\u0000\uFEFF\u00A0\u2028'),
      "true",
      "false",
      "null",
      "nul",
      "1.10",
      "01",
      "1.",
      ".5",
      "-",
      '"a"',
      '"a":',
      "\\u00e9",
      "\\ud800",
      "\\x",
      "'",
      "//",
      "NaN",
    );
    const broken = fc
      .tuple(documents, fc.nat(), fc.nat(3), crumbs)
      .map(([text, at, cut, crumb]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + crumb + text.slice(place + cut);
      });
    const texts = fc.oneof(
      fc.array(crumbs, { maxLength: 12 }).map((c) => c.join("")),
      broken,
    );
    fc.assert(
      fc.property(texts, fc.boolean(), (inner, exactWay) => {
        const text = exactWay ? `[1.10,${inner}]` : inner;
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }

        if (valid) {
          expect(toPlain(parseJson(text))).toEqual(JSON.parse(text));
        } else {
          const error = refusal(text);
          expect(error.reason).toBe("syntax");
          expect(error.position).toBeGreaterThanOrEqual(0);
          expect(error.position).toBeLessThanOrEqual(text.length);
        }
      }),
      { numRuns: 1500 },
    );
  });

  test.each([
    ["", 0, "line 1, column 1: expected a value, the text ends"],
    ['{"a":}', 5, `line 1, column 6: expected a value, found "}"`],
    ['{\n  "a": 1,\n}', 12, "line 3, column 1: expected a member name in quotes"],
    ["[1 2]", 3, "expected ',' or ']'"],
    ['{"a" 1}', 5, "expected ':'"],
    ["[1.]", 3, "expected a digit"],
    ["[01]", 2, "expected ',' or ']'"],
    ['["a\nb"]', 3, "control characters are escaped"],
    ['["a', 3, "the text ends"],
    [String.raw`["\x"]`, 3, "after the backslash"],
    [String.raw`["\u12g4"]`, 6, "four hexadecimal digits"],
    ["nulL", 3, "expected 'null'"],
    ["{} {}", 3, "expected the end of the text"],
  ])("%j is refused at %i", (text, position, says) => {
    const error = refusal(text);

    expect(error).toBeInstanceOf(SyntaxError);
    expect(error.position).toBe(position);
    expect(error.message).toContain(says);
  });

  test("the deepest allowed document is read, one level more is refused, either way", () => {
    for (const leaf of ["1", "1.10"]) {
      const nested = (levels: number) => "[".repeat(levels) + leaf + "]".repeat(levels);
      const objects = (levels: number) => `{"a":`.repeat(levels) + leaf + "}".repeat(levels);
      for (const nest of [nested, objects]) {
        expect(roundTrip(nest(64))).toBe(nest(64));
        expect(() => parseJson(nest(64), 64)).not.toThrow();
        expect(refusal(nest(65), 64)).toMatchObject({ reason: "depth" });
        expect(refusal(nest(100_000), 64).message).toContain("64 levels");
      }
    }
    expect(refusal(`${"[".repeat(100_000)}1.10${"]".repeat(100_000)}`)).toMatchObject({
      reason: "depth",
    });
  });

  test("nesting is told from brackets outside of texts", () => {
    expect(isNested('[{"a":[1]}]', 3)).toBe(false);
    expect(isNested('[{"a":[1]}]', 2)).toBe(true);
    expect(isNested(String.raw`["[[[\"[[[", "{{{"]`, 1)).toBe(false);
    expect(isNested("[],[],{},[]", 1)).toBe(false);
  });

  test("a long text with brackets in its texts is no deep one", () => {
    const text = JSON.stringify(["[".repeat(100_000)]);

    expect(parseJson(text, 64)).toEqual(["[".repeat(100_000)]);
  });

  test("repeated names: the last one counts; __proto__ is a member", () => {
    for (const one of ["1", "1.0"]) {
      const value = parseJson(
        `{"a":2,"a":${one},"__proto__":{"x":1},"constructor":null}`,
      ) as JsonObject;

      expect(stringifyJson(value)).toBe(`{"a":${one},"__proto__":{"x":1},"constructor":null}`);
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    }
  });

  test("long runs of digits and points are searched in linear time", () => {
    const started = performance.now();
    for (const run of ["1", "1.", "1.1e", "1e-", "0.00000001-", "1e111", " 1.10x"]) {
      parseJson(JSON.stringify([run.repeat(1_000_000 / run.length)]));
    }

    // Quadratic work would take minutes.
    expect(performance.now() - started).toBeLessThan(60_000);
  });
});

describe("writing", () => {
  test("a value without exact numbers is written by JSON.stringify", () => {
    const value = { a: [1, undefined, Number.NaN], b: undefined, at: new Date(0) };

    expect(stringifyJson(value)).toBe(JSON.stringify(value));
  });

  test("one with exact numbers follows the same rules", () => {
    const plain = {
      a: [1, undefined, Number.NaN, () => 1],
      b: undefined,
      at: new Date(0),
      toJSON: 1,
      "ü\n": "\uD800",
    };

    expect(stringifyJson([new ExactNumber("1.10"), plain])).toBe(`[1.10,${JSON.stringify(plain)}]`);
    expect(stringifyJson(new ExactNumber("1.10"))).toBe("1.10");
  });

  test("JSON.stringify refuses an exact number instead of dropping its digits", () => {
    expect(() => JSON.stringify({ a: new ExactNumber("1.10") })).toThrow(/stringifyJson/);
  });

  test("what another toJSON throws is passed on", () => {
    const failing = {
      toJSON() {
        throw new TypeError("mine");
      },
    };

    expect(() => stringifyJson(failing)).toThrow("mine");
  });

  test("only a JSON number can be an exact number", () => {
    for (const text of ["", "01", "1.", "NaN", '1,"a":2', " 1", "1\n"]) {
      expect(() => new ExactNumber(text)).toThrow(JsonError);
    }
  });
});

describe("comparing", () => {
  test.each([
    ["1.10", "1.1", false],
    ["1.10", "1.10", true],
    ["100", "1e2", true],
    ["1.10e0", "1.10", true],
    ["1e400", `1${"0".repeat(400)}`, true],
    ["1.5e-7", "0.00000015", true],
    ["-0.0", "0.0", true],
    ["9007199254740993", "9007199254740992", false],
    ["9e999999999999999999999", "8e999999999999999999999", false],
    ['{"a":1,"b":[2.0]}', '{"b":[2.0],"a":1}', true],
    ['{"a":null}', '{"b":null}', false],
    ['{"__proto__":1}', "{}", false],
    ['{"a":1}', '{"toString":1}', false],
    ["[1]", '{"0":1}', false],
    ["[]", "{}", false],
    ["1.0", '"1.0"', false],
    ["null", "{}", false],
  ])("%s and %s: %s", (a, b, same) => {
    const [left, right] = [parseJson(a), parseJson(b)];

    expect(jsonEquals(left, right)).toBe(same);
    expect(jsonEquals(right, left)).toBe(same);
    expect(canonicalText(left) === canonicalText(right)).toBe(same);
  });

  test("canonical text is JSON with sorted members", () => {
    expect(canonicalText(parseJson(`{"b":[1.50,10],"a":{"z":"ü","Z":null}}`))).toBe(
      `{"a":{"Z":null,"z":"ü"},"b":[150e-2,1e1]}`,
    );
  });

  test("two values are equal exactly when their canonical texts are", () => {
    const value = fc.array(
      fc.oneof(anyLiteral, fc.constantFrom('"a"', "null", "{}", '{"a":1}', "[1.0]")),
      { maxLength: 2 },
    );
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [left, right] = [parseJson(`[${a.join()}]`), parseJson(`[${b.join()}]`)];

        expect(jsonEquals(left, right)).toBe(canonicalText(left) === canonicalText(right));
      }),
    );
  });
});

test("plain values have doubles only, and share what needs no change", () => {
  const value = parseJson(
    `{"a":[1.10,{"b":9007199254740993}],"c":{"d":1},"__proto__":{"e":1.0}}`,
  ) as JsonObject;
  const plain = toPlain(value) as JsonObject;

  expect(JSON.stringify(plain)).toBe(
    `{"a":[1.1,{"b":9007199254740992}],"c":{"d":1},"__proto__":{"e":1}}`,
  );
  expect(plain["c"]).toBe(value["c"]);
  expect(toPlain(plain)).toBe(plain);
  expect(isExactNumber((value["a"] as JsonValue[])[0])).toBe(true);
});
