import { expect, test } from "vitest";
import { JsonError, stringifyJson } from "../engine/exact-json.ts";
import { prepareFile } from "./prepare-component.ts";

const from = { version: "2.0.0", domain: "core" };
const prepared = (content: unknown, domain?: string) =>
  prepareFile(JSON.stringify(content), { from, domain });

test("a component gets the package's version and, when asked for, another domain", () => {
  const component = {
    key: "a",
    flow: "sys-tasks",
    domain: "core",
    version: "1.0.0",
    flowVersion: "1.0.0",
  };

  expect(prepared(component)).toEqual([{ ...component, version: "1.0.0-pkg.2.0.0+core" }]);
  expect(prepared(component, "retail")).toEqual([
    { ...component, version: "1.0.0-pkg.2.0.0+core", domain: "retail" },
  ]);
});

test("a missing flowVersion is the component's own version", () => {
  expect(prepared({ key: "a", version: "1.2.0" })).toMatchObject([{ flowVersion: "1.2.0" }]);
});

test("a file that is nothing but brackets is no component", () => {
  const text = "[".repeat(1_000_000) + "]".repeat(1_000_000);

  expect(() => prepareFile(text, { from, domain: "retail" })).toThrow(JsonError);
});

test("seed records get versions of their own, 1.0.0 where they have none", () => {
  const data = [{ key: "s", version: "3.0.0" }, { key: "t" }, "nonsense"];

  expect(prepared({ key: "a", version: "1.0.0", data })).toMatchObject([
    {
      data: [
        { key: "s", version: "3.0.0-pkg.2.0.0+core" },
        { key: "t", version: "1.0.0-pkg.2.0.0+core" },
        "nonsense",
      ],
    },
  ]);
});

test("an array is as many components", () => {
  expect(
    prepared([
      { key: "a", version: "1.0.0" },
      { key: "b", version: "1.1.0" },
    ]),
  ).toMatchObject([
    { key: "a", version: "1.0.0-pkg.2.0.0+core" },
    { key: "b", version: "1.1.0-pkg.2.0.0+core" },
  ]);
});

test("what does not say which component it is goes as it is", () => {
  const unknown = [{ key: "a" }, { version: "1.0.0", domain: "core" }, 7, null];

  expect(prepared(unknown, "retail")).toEqual(unknown);
});

test("numbers keep their digits, and a byte order mark is no matter", () => {
  const text =
    '\uFEFF{"key":"a","version":"1.0.0","attributes":{"amount":0.10,"big":9007199254740993}}';

  const [component] = prepareFile(text, { from, domain: "retail" });

  expect(stringifyJson(component!)).toContain('"amount":0.10,"big":9007199254740993');
});
