import { describe, expect, test } from "vitest";
import type { HandlerKind } from "../../src/scripting/contract.ts";
import { InvalidAnswer, readAnswer } from "../../src/scripting/read-answer.ts";

const response = {
  key: null,
  data: 1,
  headers: null,
  statusCode: 200,
  routeValues: null,
  tags: [],
};

test.each<[HandlerKind, unknown]>([
  ["mapping.input", response],
  ["output", { ...response, headers: { a: "b" }, statusCode: null }],
  ["condition", false],
  ["timer", { delayMs: 5 }],
  ["timer", { dueAt: "2026-01-01T00:00:00Z" }],
  ["timer", { cron: "0 0 * * *" }],
  ["transition", null],
  ["transition", { any: [1] }],
  ["notification.channel", null],
  ["notification.channel", { data: 1, metadata: {}, operation: "create" }],
  ["notification.state", { metadata: { a: "b" }, operation: "create" }],
  ["notification.state", null],
  ["notification.output", null],
  ["event", { instanceKey: null, body: null, selector: null }],
  ["fanOut.items", [1]],
  ["fanOut.output", null],
  ["cacheKey", null],
  ["cacheKey", "k"],
])("%s: %j is read", (kind, value) => {
  expect(readAnswer(kind, JSON.stringify({ value })).value).toEqual(value);
});

describe("an answer that no prelude gives is refused", () => {
  test.each<[string, HandlerKind, string]>([
    ["no JSON", "condition", "{"],
    ["no object", "condition", "true"],
    ["too deep", "transition", `{"value":${"[".repeat(100)}${"]".repeat(100)}}`],
    ["no truth value", "condition", '{"value":"yes"}'],
    ["no value", "condition", "{}"],
    [
      "a header that is no text",
      "output",
      JSON.stringify({ value: { ...response, headers: { a: {} } } }),
    ],
    ["a status that is none", "output", JSON.stringify({ value: { ...response, statusCode: 1 } })],
    ["tags that are none", "subflow.input", JSON.stringify({ value: { ...response, tags: [1] } })],
    ["no time at all", "timer", '{"value":{}}'],
    ["a negative time", "timer", '{"value":{"delayMs":-5}}'],
    ["a task that is none", "mapping.input", JSON.stringify({ value: response, task: [] })],
    [
      "a stage that is too long",
      "output",
      JSON.stringify({ value: response, stage: "x".repeat(121) }),
    ],
  ])("%s", (_, kind, text) => {
    expect(() => readAnswer(kind, text)).toThrow(InvalidAnswer);
  });
});

test("log lines that are none are left out", () => {
  const logs = [{ level: "Warning", message: "x" }, { level: "Loud", message: "x" }, 5];

  expect(readAnswer("transition", JSON.stringify({ value: 1, logs })).logs).toEqual([logs[0]]);
});
