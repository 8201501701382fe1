import { expect, test } from "vitest";
import { parseIsoDuration } from "./iso-duration.ts";

test.each([
  ["PT30S", 30_000],
  ["PT0.5S", 500],
  ["PT0,25S", 250],
  ["PT1M", 60_000],
  ["P1M", 30 * 86_400_000],
  ["P1Y", 365 * 86_400_000],
  ["P2W", 14 * 86_400_000],
  ["P1DT2H3M4S", 86_400_000 + 7_384_000],
  ["PT0S", 0],
])("%s is %i ms", (text, milliseconds) => {
  expect(parseIsoDuration(text)).toBe(milliseconds);
});

test.each(["", "P", "PT", "P1DT", "5m", "PT5", "-PT5S", "PT5S ", "P1.5D", "P1W2D", "PT1S1M"])(
  "'%s' is not a duration",
  (text) => {
    expect(parseIsoDuration(text)).toBeUndefined();
  },
);
