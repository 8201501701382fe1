import { expect, test } from "vitest";
import { isAcceptedStatus } from "./accepted-status.ts";

test.each([
  [200, undefined, true],
  [204, null, true],
  [299, [], true],
  [199, [], false],
  [302, undefined, false],
  [404, ["404"], true],
  [404, [" 404 "], true],
  [404, [404], true],
  [404, ["4xx"], true],
  [404, ["4XX"], true],
  [404, ["40x"], true],
  [404, ["41x"], false],
  [404, ["403", "405"], false],
  [500, ["4xx", "5xx"], true],
  [404, ["xxx"], false],
  [404, ["x04"], false],
  [404, ["4x4"], false],
  [404, ["4"], false],
  [404, [""], false],
  [404, "404", false],
])("%i with %j accepted: %s", (status, accepted, isAccepted) => {
  expect(isAcceptedStatus(status, accepted)).toBe(isAccepted);
});
