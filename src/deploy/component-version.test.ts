import { expect, test } from "vitest";
import { compareVersions, isVersion } from "../engine/version.ts";
import { componentVersion } from "./component-version.ts";

test.each([
  ["1.0.0", "1.17.0", "core", "1.0.0-pkg.1.17.0+core"],
  ["2.3.4", "0.0.1", "my-domain", "2.3.4-pkg.0.0.1+my-domain"],
  ["1.0.0-alpha.1", "1.17.0", "account", "1.0.0-alpha.1-pkg.1.17.0+account"],
  ["1.0.0", "2.0.0-beta.3", "core", "1.0.0-pkg.2.0.0-beta.3+core"],
  ["1.0.0+build.7", "1.0.0", "core", "1.0.0-pkg.1.0.0+core"],
  ["1.0.0", "1.0.0+build.7", "core", "1.0.0-pkg.1.0.0+core"],
  ["1.0.0-pkg.1.0.0+core", "1.1.0", "core", "1.0.0-pkg.1.1.0+core"],
  [undefined, "1.2.3", "core", "1.0.0-pkg.1.2.3+core"],
])("%s of package %s of %s is published as %s", (own, version, domain, composed) => {
  expect(componentVersion(own, { version, domain })).toBe(composed);
  expect(isVersion(composed)).toBe(true);
});

test("a newer package outranks an older one, and its name counts for nothing", () => {
  const of = (version: string) => componentVersion("1.0.0", { version, domain: "core" });

  expect(compareVersions(of("1.18.0"), of("1.17.0"))).toBeGreaterThan(0);
  expect(compareVersions(of("1.10.0"), of("1.9.0"))).toBeGreaterThan(0);
});
