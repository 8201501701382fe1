import { expect, test } from "vitest";
import type { VersionStrategy } from "./definition/enumerations.ts";
import { nextDataVersion } from "./data-version.ts";

test.each<[string | undefined, VersionStrategy, string]>([
  [undefined, "major", "1.0.0"],
  ["1.2.3", "none", "1.2.3"],
  ["1.2.3", "patch", "1.2.4"],
  ["1.2.3", "minor", "1.3.0"],
  ["1.2.3", "major", "2.0.0"],
  ["1.2.3-alpha.1", "patch", "1.2.4"],
  ["1.2.3-pkg.4.5.6+core", "minor", "1.3.0-pkg.4.5.6+core"],
  ["1.2.3+meta", "patch", "1.2.4+meta"],
])("%s with strategy %s becomes %s", (current, strategy, next) => {
  expect(nextDataVersion(current, strategy)).toBe(next);
});
