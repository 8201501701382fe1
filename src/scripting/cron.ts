/**
 * When a cron expression comes true next: five fields (minute, hour, day of month, month, day of
 * week), or six with seconds first, in UTC. Lists, ranges, steps and names; Sunday is 0 and 7. When
 * both days are restricted, either will do, as cron has always had it.
 */
interface Field {
  readonly least: number;
  readonly most: number;
  readonly names?: readonly string[];
}

const second: Field = { least: 0, most: 59 };
const fields: readonly Field[] = [
  second,
  { least: 0, most: 59 },
  { least: 0, most: 23 },
  { least: 1, most: 31 },
  {
    least: 1,
    most: 12,
    names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  },
  { least: 0, most: 7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/** Beyond this no date will come: the longest wait is for a 29th of February on a given weekday. */
const longestDays = 40 * 366;
const dayMs = 86_400_000;

/** Undefined when the expression is none, or names a day that never comes. */
export function nextOccurrence(expression: string, after: Date): Date | undefined {
  const parts = expression.trim().toLowerCase().split(/\s+/);
  const texts = parts.length === 5 ? ["0", ...parts] : parts;
  if (texts.length !== 6) return undefined;
  const sets = texts.map((text, i) => valuesOf(text, fields[i]!));
  if (sets.some((set) => set === undefined)) return undefined;
  const [seconds, minutes, hours, days, months, weekdays] = sets as Set<number>[];
  if (weekdays!.has(7)) weekdays!.add(0);
  const anyDay = isAny(texts[3]!);
  const anyWeekday = isAny(texts[5]!);

  const first = Math.floor(after.getTime() / 1000) * 1000 + 1000;
  const midnight = Math.floor(first / dayMs) * dayMs;
  for (let day = 0; day < longestDays; day += 1) {
    const date = new Date(midnight + day * dayMs);
    if (!months!.has(date.getUTCMonth() + 1)) continue;
    const byDay = days!.has(date.getUTCDate());
    const byWeekday = weekdays!.has(date.getUTCDay());
    if (anyDay || anyWeekday ? !(byDay && byWeekday) : !(byDay || byWeekday)) continue;
    const from = day === 0 ? first - midnight : 0;
    const time = firstTime(hours!, minutes!, seconds!, from);
    if (time !== undefined) return new Date(date.getTime() + time);
  }
  return undefined;
}

const isAny = (text: string) => text.startsWith("*") || text === "?";

/** The first time of a day, in milliseconds, that is not before `from`. */
function firstTime(
  hours: Set<number>,
  minutes: Set<number>,
  seconds: Set<number>,
  from: number,
): number | undefined {
  for (const hour of hours) {
    if ((hour + 1) * 3_600_000 <= from) continue;
    for (const minute of minutes) {
      for (const at of seconds) {
        const time = ((hour * 60 + minute) * 60 + at) * 1000;
        if (time >= from) return time;
      }
    }
  }
  return undefined;
}

/** In ascending order. */
function valuesOf(text: string, field: Field): Set<number> | undefined {
  const values: number[] = [];
  for (const part of text.split(",")) {
    const [, range = "", step = "1"] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(part) ?? [];
    const bounds = boundsOf(range, part.includes("/"), field);
    if (bounds === undefined || Number(step) < 1) return undefined;
    for (let value = bounds[0]; value <= bounds[1]; value += Number(step)) values.push(value);
  }
  return new Set(values.toSorted((a, b) => a - b));
}

function boundsOf(range: string, hasStep: boolean, field: Field): [number, number] | undefined {
  if (range === "*" || range === "?") return [field.least, field.most];
  const [from, to, ...more] = range.split("-").map((text) => valueOf(text, field));
  if (from === undefined || more.length > 0) return undefined;
  // `5/15` goes on to the end.
  if (!range.includes("-")) return [from, hasStep ? field.most : from];
  return to === undefined || to < from ? undefined : [from, to];
}

function valueOf(text: string, { least, most, names = [] }: Field): number | undefined {
  const named = names.indexOf(text);
  const value = named === -1 ? (/^\d{1,2}$/.test(text) ? Number(text) : -1) : named + least;
  return value >= least && value <= most ? value : undefined;
}
