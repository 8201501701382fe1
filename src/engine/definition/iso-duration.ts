/**
 * ISO 8601 durations as definitions write them: `PT30S`, `P1DT2H`, `PT0.5S`, `P2W`. Years and months
 * count as 365 and 30 days: a definition's delay is not bound to a calendar.
 */
const pattern =
  /^P(?:(\d{1,9})W|(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})D)?(T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:[.,]\d{1,9})?)S)?)?)$/;

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Milliseconds, or `undefined` when the text is not a duration. */
export function parseIsoDuration(text: string): number | undefined {
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const [, weeks, years, months, days, time, hours, minutes, seconds] = found;
  const given = [weeks, years, months, days, hours, minutes, seconds];
  if (given.every((part) => part === undefined) || time === "T") return undefined;
  const amounts = [7 * day, 365 * day, 30 * day, day, hour, minute, second];
  return given.reduce(
    (sum, part, i) => sum + Number((part ?? "0").replace(",", ".")) * (amounts[i] ?? 0),
    0,
  );
}
