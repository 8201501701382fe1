import { expect, test } from "vitest";
import { pickVersion } from "./pick-version.ts";

const there = {
  tags: { latest: "1.2.0", beta: "2.0.0-beta.1", gone: "9.9.9" },
  versions: ["1.0.0", "1.2.0", "1.10.0", "2.0.0-beta.1", "0.9.0"],
  deprecated: new Set(["0.9.0"]),
};

test.each([
  ["latest", "1.2.0"],
  ["beta", "2.0.0-beta.1"],
  ["1.0.0", "1.0.0"],
  ["v1.0.0", "1.0.0"],
  ["^1.0.0", "1.2.0"], // latest, as npm prefers it
  [">=1.3.0", "1.10.0"],
  ["1", "1.2.0"],
  ["*", "1.2.0"],
  ["~0.9.0", "0.9.0"], // deprecated, but all that fits
  ["<=1.0.0", "1.0.0"],
  ["^2.0.0", undefined],
  ["3.0.0", undefined],
  ["gone", undefined],
  ["constructor", undefined],
  ["no such tag", undefined],
])("%s is %s", (wanted, version) => {
  expect(pickVersion(there, wanted)).toBe(version);
});
