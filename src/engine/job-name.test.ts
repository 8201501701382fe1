import { expect, test } from "vitest";
import { formatJobName, JobNameError, parseJobName } from "./job-name.ts";

const instanceId = "0198c1de-1111-7222-8333-444455556666";
const hex = "0198c1de111172228333444455556666";

test("a name holds type, id, source state and transition key, and parses back", () => {
  const name = { type: "sx", instanceId, sourceState: "review", transitionKey: "remind" } as const;

  const text = formatJobName(name);

  expect(text).toBe(`service.job.v1.sx.${hex}.review.remind`);
  expect(parseJobName(text)).toEqual(name);
});

test("a timeout has nothing after the id", () => {
  const name = { type: "to", instanceId } as const;

  expect(formatJobName(name)).toBe(`service.job.v1.to.${hex}`);
  expect(parseJobName(formatJobName(name))).toEqual(name);
});

test.each([
  ["one field", `service.job.v1.tx.${hex}.approve`, "approve"],
  ["another brand", `vnext.job.v1.tx.${hex}.approve`, "approve"],
  ["an encoded field", `vnext.job.v1.tx.${hex}.~b25heSBndWc`, "onay gug"],
])("an older name with %s still parses", (_what, text, transitionKey) => {
  expect(parseJobName(text)).toEqual({ type: "tx", instanceId, transitionKey });
});

test.each([
  "",
  "x",
  "service.job.v2.tx.1.a",
  `service.job.v1.zz.${hex}`,
  `service.job.v1.tx.12.a.b`,
])("%s is no job name", (text) => {
  expect(parseJobName(text)).toBeUndefined();
});

test.each([
  ["a.b", "go"],
  ["review", "go home"],
  ["review", ""],
])(
  "state '%s' and key '%s' raise an error that names the alphabet",
  (sourceState, transitionKey) => {
    const format = () => formatJobName({ type: "tx", instanceId, sourceState, transitionKey });

    expect(format).toThrow(JobNameError);
    expect(format).toThrow(/letters, digits, '_' and '-'/);
  },
);
