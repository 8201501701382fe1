import { expect, test } from "vitest";
import { packageSpec } from "./package-spec.ts";

test.each([
  ["loans", "latest", "loans"],
  ["@burgan-tech/vnext-template", "^0.0.8", "@burgan-tech%2fvnext-template"],
  ["loans", "1.2.3", "loans"],
  ["loans", ">=1 <3", "loans"],
  ["loans", "beta", "loans"],
])("%s %s is a package of the registry", (name, version, escapedName) => {
  expect(packageSpec(name, version)).toEqual({ spec: { name, escapedName, wanted: version } });
});

test.each([
  "",
  ".",
  "..",
  "../x",
  "/etc",
  "file:/etc",
  "a/b",
  "a@1",
  "@scope",
  "@scope/",
  "@/a",
  "@scope/../a",
  "git+https://host/a.git",
  "git@host:a/b",
  "https://host/a.tgz",
  "npm:other",
  "a b",
  "a\nb",
  "_a",
  "a%2fb",
  "x".repeat(215),
])("the name %j is none", (name) => {
  expect(packageSpec(name, "latest")).toMatchObject({ field: "packageName" });
});

test.each([
  "file:/etc",
  "/etc",
  "../x",
  "git+https://host/a.git",
  "https://host/a.tgz",
  "npm:other@1",
  "a/b",
  "latest beta",
  "~/x",
  ">=1 ".repeat(100_000),
])("the version %j is none", (version) => {
  expect(packageSpec("loans", version)).toMatchObject({ field: "version" });
});
