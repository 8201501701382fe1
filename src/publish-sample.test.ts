import { expect, test } from "vitest";
import { bindSampleChannels } from "./publish-sample.ts";

test.each([
  [[], ["email=log"]],
  [["sms=log"], ["sms=log", "email=log"]],
  [["Email=smtp"], ["Email=smtp"]],
  [["*=dapr"], ["*=dapr"]],
])("with the channels %j the sample writes to %j", (configured, bound) => {
  expect(bindSampleChannels(configured)).toEqual(bound);
});
