import { describe, expect, test } from "vitest";
import { ExactNumber } from "../engine/exact-json.ts";
import {
  isDecidedBy,
  itemsOf,
  packaged,
  readPlan,
  resultOf,
  shortfall,
  valueAt,
  type ItemEnd,
} from "./fan-out-plan.ts";

const end = (index: number, isSuccess: boolean): ItemEnd => ({
  item: { index, value: null, itemKey: String(index) },
  isSuccess,
  data: undefined,
  durationMs: 1,
});
const ends = (outcomes: string) => outcomes.split("").map((mark, i) => end(i, mark === "+"));

test("what the config leaves out has its default", () => {
  expect(readPlan({})).toEqual({
    itemsPath: undefined,
    parallel: 4,
    itemTimeoutMs: 30_000,
    batchTimeoutMs: 120_000,
    policy: "allSettled",
    minSuccess: 1,
    resultKey: "fanOutResults",
    ordered: true,
  });
});

test("nobody asks for a million at once, or for a time that no timer knows", () => {
  const execution = {
    maxDegreeOfParallelism: 1_000_000,
    itemTimeoutSeconds: 1e9,
    batchTimeoutSeconds: 1e9,
  };

  expect(readPlan({ execution })).toMatchObject({
    parallel: 64,
    itemTimeoutMs: 2_147_483_647,
    batchTimeoutMs: 2_147_483_647,
  });
});

test("the policy is spelled in any case", () => {
  expect(readPlan({ join: { policy: "FIRSTSUCCESS" } }).policy).toBe("firstSuccess");
});

test("an item's key is its id, else its key, else its index", () => {
  const values = [
    { id: "a", key: "b" },
    { key: "b" },
    { id: 7 },
    { id: new ExactNumber("9007199254740993") },
    { id: "" },
    "text",
    null,
  ];

  expect(itemsOf(values).map((item) => item.itemKey)).toEqual([
    "a",
    "b",
    "7",
    "9007199254740993",
    "4",
    "5",
    "6",
  ]);
});

test.each([
  ["$.a.b", [1]],
  ["$.a", { b: [1] }],
  ["$.a.c", undefined],
  ["$.x.y", undefined],
  ["$.a.b.length", undefined],
  ["$.constructor", undefined],
])("%s of the data", (path, value) => {
  expect(valueAt(path, { a: { b: [1] } })).toEqual(value);
});

describe("the whole", () => {
  test.each([
    ["all", 1, "", false, true],
    ["all", 1, "++", false, true],
    ["all", 1, "+-", false, false],
    ["allSettled", 1, "", false, true],
    ["allSettled", 1, "--", true, true],
    ["quorum", 2, "++-", false, true],
    ["quorum", 2, "++-", true, true],
    ["quorum", 2, "+--", false, false],
    ["quorum", 1, "", false, false],
    ["firstSuccess", 1, "-+", false, true],
    ["firstSuccess", 1, "--", false, false],
    ["firstSuccess", 1, "", false, false],
  ])("%s (%d) of '%s', timed out %s: %s", (policy, minSuccess, outcomes, timedOut, isSuccess) => {
    const plan = readPlan({ join: { policy, minSuccess } });

    const reason = shortfall(plan, resultOf(plan, ends(outcomes), timedOut));

    expect(reason === undefined).toBe(isSuccess);
  });

  test.each([
    ["all", true, false],
    ["all", false, true],
    ["firstSuccess", true, true],
    ["firstSuccess", false, false],
    ["quorum", true, false],
    ["allSettled", false, false],
  ])("of policy %s is decided by an item with success %s: %s", (policy, isSuccess, decided) => {
    expect(isDecidedBy(readPlan({ join: { policy } }), end(0, isSuccess))).toBe(decided);
  });
});

test("results stand by index, or as the items ended", () => {
  const late = [end(1, true), end(0, false)];
  const indexes = (ordered: boolean) => {
    const plan = readPlan({ join: { ordered } });
    return resultOf(plan, late, false).ends.map(({ item }) => item.index);
  };

  expect(indexes(true)).toEqual([0, 1]);
  expect(indexes(false)).toEqual([1, 0]);
});

test("the default output has one row per item and a summary", () => {
  const plan = readPlan({ join: { resultKey: "mails" } });
  const failed = { ...end(1, false), errorCode: "FanOut:ItemTimeout", errorMessage: "late" };

  expect(packaged(plan, resultOf(plan, [end(0, true), failed], false))).toEqual({
    mails: [
      {
        index: 0,
        itemKey: "0",
        isSuccess: true,
        data: null,
        errorCode: null,
        errorMessage: null,
        durationMs: 1,
      },
      {
        index: 1,
        itemKey: "1",
        isSuccess: false,
        data: null,
        errorCode: "FanOut:ItemTimeout",
        errorMessage: "late",
        durationMs: 1,
      },
    ],
    mailsSummary: { total: 2, succeeded: 1, failed: 1, timedOut: false },
  });
});
