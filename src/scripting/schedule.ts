/** When a timer fires, as scripts and definitions say it. */
import { parseIsoDuration } from "../engine/definition/iso-duration.ts";
import { readInstant } from "../engine/instance-query/instant.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { ScheduleValue } from "./contract.ts";
import { nextOccurrence } from "./cron.ts";
import type { Schedule } from "./script-host.ts";

/** A duration or an instant; what is not in the future is due at once. */
export function readMomentText(text: string): Schedule | undefined {
  const delayMs = parseIsoDuration(text);
  if (delayMs !== undefined) return { delayMs };
  const instant = readInstant(text);
  return instant === undefined ? undefined : { dueAt: new Date(instant) };
}

/** What a timer script answers. A cron expression is its next occurrence: nothing recurs. */
export function readMoment(value: unknown, now: Date): Schedule {
  const schedule = value as ScheduleValue;
  if ("delayMs" in schedule) return { delayMs: schedule.delayMs };
  if ("dueAt" in schedule) return { dueAt: new Date(schedule.dueAt) };
  const dueAt = nextOccurrence(schedule.cron, now);
  if (dueAt !== undefined) return { dueAt };
  throw new StepFailed({
    code: "Task:400007",
    layer: "Pipeline",
    message: `The timer answers the cron expression '${schedule.cron.slice(0, 100)}', which never comes true. Write five fields (minute, hour, day, month, weekday) or six with seconds first, in UTC.`,
    retryable: false,
  });
}
