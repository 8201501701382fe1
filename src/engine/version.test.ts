import { describe, expect, test } from "vitest";
import { compareVersions, isVersion, resolveVersion } from "./version.ts";

const long = `1.0.0-${"a".repeat(174)}`;

describe("resolveVersion", () => {
  const published = [
    "1.0.0",
    "1.2.0",
    "1.2.10",
    "1.2.9",
    "2.0.0-pkg.1.9.0+core",
    "2.0.0-pkg.1.10.0+core",
    "2.1.0-beta.1",
    "3.0.0+build.1",
    "3.0.0+build.2",
    "10.0.0",
  ];

  test.each([
    [undefined, "10.0.0"],
    ["", "10.0.0"],
    ["latest", "10.0.0"],
    ["LATEST", "10.0.0"],
    ["1", "1.2.10"],
    ["1.2", "1.2.10"],
    ["1.0", "1.0.0"],
    ["1.2.9", "1.2.9"],
    ["2", "2.1.0-beta.1"],
    ["2.0", "2.0.0-pkg.1.10.0+core"],
    ["2.0.0", "2.0.0-pkg.1.10.0+core"],
    ["2.0.0-pkg.1.9.0+core", "2.0.0-pkg.1.9.0+core"],
    ["2.0.0-pkg.1.9.0", "2.0.0-pkg.1.9.0+core"],
    ["2.1.0-beta.1", "2.1.0-beta.1"],
    ["2.1.0", undefined],
    ["3.0.0", "3.0.0+build.2"],
    ["3.0.0+build.1", "3.0.0+build.1"],
    ["3.0.0+build.9", undefined],
    ["4", undefined],
    ["1.2.3", undefined],
    ["10", "10.0.0"],
    ["1.", undefined],
    ["v1.0.0", undefined],
    ["^1.0.0", undefined],
    ["__proto__", undefined],
  ])("%s finds %s", (wanted, found) => {
    expect(resolveVersion(published, wanted)).toBe(found);
  });

  test("a plain version outranks the package versions of the same number", () => {
    expect(resolveVersion(["1.0.0-pkg.9.9.9+x", "1.0.0"], "1")).toBe("1.0.0");
  });

  test("nothing published, nothing found", () => {
    expect(resolveVersion([], "latest")).toBeUndefined();
  });

  test("a version of 180 characters is found", () => {
    expect(resolveVersion([long], long)).toBe(long);
  });
});

test.each([
  ["1.0.0", true],
  ["1.0.0-pkg.2.3.4+core", true],
  [long, true],
  [`${long}a`, false],
  ["1.0", false],
  ["v1.0.0", false],
  ["1.0.0-pkg.01.2.3", false],
  [" 1.0.0", false],
  ["", false],
])("isVersion(%s) is %s", (version, valid) => {
  expect(isVersion(version)).toBe(valid);
});

test("the order is total: build metadata breaks ties", () => {
  expect(compareVersions("1.0.0+a", "1.0.0+b")).toBeLessThan(0);
  expect(compareVersions("1.0.0-pkg.1.10.0+a", "1.0.0-pkg.1.9.0+a")).toBeGreaterThan(0);
});
