import { expect, test } from "vitest";
import { statusName } from "./status-name.ts";

test.each([
  [302, "Redirect"],
  [400, "BadRequest"],
  [404, "NotFound"],
  [413, "RequestEntityTooLarge"],
  [418, "418"],
  [422, "UnprocessableEntity"],
  [429, "TooManyRequests"],
  [500, "InternalServerError"],
  [503, "ServiceUnavailable"],
  [505, "HttpVersionNotSupported"],
  [599, "599"],
])("%i is %s", (status, name) => {
  expect(statusName(status)).toBe(name);
});
