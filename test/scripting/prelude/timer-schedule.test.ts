import { expect, test } from "vitest";
import { TimerSchedule } from "../../../src/scripting/prelude/script.ts";

test.each([
  ["a date", TimerSchedule.FromDateTime(new Date(0)), { dueAt: "1970-01-01T00:00:00.000Z" }],
  [
    "a text with a zone",
    TimerSchedule.FromDateTime("2026-01-01T10:00:00+03:00"),
    { dueAt: "2026-01-01T07:00:00.000Z" },
  ],
  [
    "a text without a zone is UTC",
    TimerSchedule.FromDateTime("2026-01-01T10:00:00"),
    { dueAt: "2026-01-01T10:00:00.000Z" },
  ],
  [
    "a text with a space",
    TimerSchedule.FromDateTime("2026-01-01 10:00:00.5"),
    { dueAt: "2026-01-01T10:00:00.500Z" },
  ],
  ["a day", TimerSchedule.FromDateTime("2026-01-01"), { dueAt: "2026-01-01T00:00:00.000Z" }],
  ["milliseconds", TimerSchedule.FromDuration(1500), { delayMs: 1500 }],
  [
    "parts",
    TimerSchedule.FromDuration({ days: 1, hours: 2, minutes: 3, seconds: 4 }),
    { delayMs: 93_784_000 },
  ],
  ["ISO 8601", TimerSchedule.FromDuration("P1DT2H"), { delayMs: 93_600_000 }],
  ["a fraction", TimerSchedule.FromDuration("PT0.5S"), { delayMs: 500 }],
  ["immediate", TimerSchedule.Immediate(), { delayMs: 2000 }],
  ["cron", TimerSchedule.FromCronExpression(" 0 9 * * 1 "), { cron: "0 9 * * 1" }],
])("%s", (_, schedule, value) => {
  expect(JSON.parse(JSON.stringify(schedule))).toEqual(value);
});

test.each([
  [
    "no time",
    () => TimerSchedule.FromDuration(0),
    "Duration must be positive. (Parameter 'duration')",
  ],
  [
    "less than no time",
    () => TimerSchedule.FromDuration({ hours: -1 }),
    "Duration must be positive.",
  ],
  ["no duration", () => TimerSchedule.FromDuration("soon"), "Not a duration: the text 'soon'."],
  ["not a number", () => TimerSchedule.FromDuration(Number.NaN), "Not a duration"],
  ["no end", () => TimerSchedule.FromDuration(Number.POSITIVE_INFINITY), "Not a duration"],
  [
    "no date",
    () => TimerSchedule.FromDateTime("tomorrow"),
    "Not a date and time: the text 'tomorrow'.",
  ],
  [
    "no cron expression",
    () => TimerSchedule.FromCronExpression(" "),
    "(Parameter 'cronExpression')",
  ],
])("%s is refused", (_, make, message) => {
  expect(make).toThrow(
    expect.objectContaining({
      name: "ArgumentException",
      message: expect.stringContaining(message),
    }),
  );
});
