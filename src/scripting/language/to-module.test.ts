import { describe, expect, test } from "vitest";
import { ScriptSyntaxError } from "../sandbox.ts";
import { detectLanguage } from "./detect-language.ts";
import { toModule } from "./to-module.ts";

const languageOf = (source: string, location = "inline", language?: string) =>
  toModule(source, { location, language }).language;

const refusal = (source: string, location = "./src/a.ts"): ScriptSyntaxError => {
  try {
    toModule(source, { location });
  } catch (error) {
    if (error instanceof ScriptSyntaxError) return error;
    throw error;
  }
  throw new Error("was accepted");
};

describe("the language of a script", () => {
  test.each([
    ["./src/Pick.ts", "typescript"],
    ["./src/Pick.MTS", "typescript"],
    ["./src/Pick.js", "javascript"],
    ["./src/Pick.mjs", "javascript"],
    ["./src/Pick.csx", "csharp"],
    ["./src/Pick.cs", "csharp"],
    ["dynamicExpresso", "expression"],
    ["DYNAMICEXPRESSO", "expression"],
  ])("location %s says %s, whatever the text looks like", (location, language) => {
    expect(languageOf("const a = 1;", location)).toBe(language);
  });

  test.each([
    ["using System;\npublic class A : IMapping {}", "csharp"],
    ["\ufeffusing System.Linq;\nvar x = 1;", "csharp"],
    ["// a comment\nusing static System.Math;", "csharp"],
    ["using Json = System.Text.Json;", "csharp"],
    ["namespace Loans;\nclass A {}", "csharp"],
    ["namespace Loans.Mapping\n{ }", "csharp"],
    ["public class PickLimit : ScriptBase, IMapping { }", "csharp"],
    ["public sealed class PickLimit : IConditionMapping { }", "csharp"],
    ['#load "x.csx"\nclass A {}', "csharp"],
    ["export default class A {}", "typescript"],
    ["// using System;\nexport const Handler = () => true;", "typescript"],
    ["export const using = 1; using;", "typescript"],
    ["", "typescript"],
  ])("without a telling location, by its text: %j is %s", (source, language) => {
    expect(languageOf(source)).toBe(language);
  });

  test.each(["\n", "/*", "//\n", "using\n", "namespace ", "public static "])(
    "a text of %j and nothing else is read in one go",
    (part) => {
      expect(detectLanguage(part.repeat(100_000), "")).toBe("typescript");
    },
  );

  test("a 'language' member wins over location and text", () => {
    expect(languageOf("const a = 1;", "./src/Pick.csx", "TypeScript")).toBe("typescript");
    expect(languageOf("export {}", "./src/Pick.ts", "csharp")).toBe("csharp");
  });

  test("a 'language' nobody knows is not one", () => {
    expect(languageOf("export {}", "./src/Pick.js", "cobol")).toBe("javascript");
  });

  test("C# is kept with a warning and becomes no module", () => {
    const { source, warnings } = toModule("using System;", { location: "./src/Pick.csx" });

    expect(source).toBeUndefined();
    expect(warnings).toEqual(["The C# script './src/Pick.csx' is kept but cannot be run yet."]);
  });
});

describe("TypeScript", () => {
  test("types are taken away, and what remains keeps its line and column", () => {
    const text = `import { type A, B } from "vnext:script";\nconst a: number = 1;\nexport class C<T> extends B { x?: T; f(this: C<T>, y: string): asserts y is "a" {} }`;
    const { source } = toModule(text, { location: "a.ts" });

    expect(source?.split("\n").map((line) => line.length)).toEqual(
      text.split("\n").map((line) => line.length),
    );
    expect(source).not.toMatch(/number|string|asserts/);
  });

  test("a BOM is tolerated and counts for nothing", () => {
    expect(toModule("\ufeffexport const a: string = '1';", { location: "a.ts" }).source).toMatch(
      /^ export const a {9}= '1';$/,
    );
    expect(refusal("\ufefflet b = ;")).toMatchObject({ line: 1, column: 10 });
  });

  test("a syntax error has its line and column, and the script's name", () => {
    expect(refusal("const a = 1;\n  let b = ;")).toMatchObject({
      message: "Expression expected",
      scriptName: "./src/a.ts",
      line: 2,
      column: 11,
    });
  });

  test.each([
    ["enum Color { red }", /Enums are not supported: write a constant object/],
    ["class A { constructor(public x: number) {} }", /Parameter properties are not supported/],
    ["namespace A { export const x = 1; }", /Namespaces are not supported/],
    ["import fs = require('fs');", /'import x = …' is not supported/],
    ["export = 1;", /'export = …' is not supported/],
    ["const a = <any>b;", /use the 'as' syntax/],
  ])("%s is refused with what to write instead", (source, message) => {
    expect(refusal(source).message).toMatch(message);
  });

  test("JavaScript passes unchanged", () => {
    const text = "export async function Handler({ Body }) {\n  return Body?.x ?? 1;\n}\n";

    expect(toModule(text, { location: "a.js" }).source).toBe(text);
  });

  test("JavaScript that does not parse is refused", () => {
    expect(refusal("export function {", "a.js")).toMatchObject({ line: 1 });
  });

  test("text that is too deep for the parser is refused, and the next is read", () => {
    for (const text of ["[".repeat(200_000), "{".repeat(50_000), `1${"+1".repeat(200_000)}`]) {
      expect(refusal(text).message).toMatch(/nested too deeply|expected|Unexpected/i);
      expect(toModule("let a: number;", { location: "a.ts" }).source).toBe("let a        ;");
    }
  });

  test("text that is too long is refused", () => {
    expect(refusal(" ".repeat(1024 * 1024 + 1)).message).toBe(
      "The script is longer than 1048576 characters",
    );
  });
});
