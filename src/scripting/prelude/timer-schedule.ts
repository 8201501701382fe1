import type { ScheduleValue } from "../contract.ts";
import { describe } from "./describe.ts";
import { ArgumentException, requireText } from "./errors.ts";
import { durationOf } from "./iso-duration.ts";

export interface DurationParts {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
  milliseconds?: number;
}

/** Milliseconds, parts, or ISO 8601 (`PT90S`). */
export type DurationInput = number | string | DurationParts;

/** When a timer is due. It becomes one instant when it is armed; nothing recurs. */
export class TimerSchedule {
  readonly #value: ScheduleValue;

  private constructor(value: ScheduleValue) {
    this.#value = value;
  }

  /** A text without a zone is read as UTC. */
  static FromDateTime(instant: Date | string | number): TimerSchedule {
    const date = new Date(typeof instant === "string" ? asUtc(instant) : instant);
    if (Number.isNaN(date.getTime())) {
      throw new ArgumentException(`Not a date and time: ${describe(instant)}.`, "dateTime");
    }
    return new TimerSchedule({ dueAt: date.toISOString() });
  }

  static FromDuration(duration: DurationInput): TimerSchedule {
    const delayMs = milliseconds(duration);
    if (delayMs === undefined || !Number.isFinite(delayMs)) {
      throw new ArgumentException(`Not a duration: ${describe(duration)}.`, "duration");
    }
    if (delayMs <= 0) throw new ArgumentException("Duration must be positive.", "duration");
    return new TimerSchedule({ delayMs });
  }

  /** In two seconds. */
  static Immediate(): TimerSchedule {
    return new TimerSchedule({ delayMs: 2000 });
  }

  /** The next occurrence after the timer is armed. */
  static FromCronExpression(expression: string): TimerSchedule {
    return new TimerSchedule({ cron: requireText(expression, "cronExpression").trim() });
  }

  toJSON(): ScheduleValue {
    return this.#value;
  }
}

const zoned = /(?:[zZ]|[-+]\d{2}:?\d{2})$/;

const asUtc = (text: string): string => {
  const trimmed = text.trim();
  return /[tT ]\d{2}:\d{2}/.test(trimmed) && !zoned.test(trimmed)
    ? `${trimmed.replace(" ", "T")}Z`
    : trimmed;
};

function milliseconds(duration: DurationInput): number | undefined {
  if (typeof duration === "number") return duration;
  if (typeof duration === "string") return durationOf(duration);
  if (typeof duration !== "object" || duration === null) return undefined;
  const { days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds: ms = 0 } = duration;
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms;
}
