/** ISO 8601 durations in milliseconds, as definitions write them; years are 365 days, months 30. */
const pattern =
  /^P(?:(\d{1,9})W|(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})D)?(T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:[.,]\d{1,9})?)S)?)?)$/;

const day = 86_400_000;
const amounts = [7 * day, 365 * day, 30 * day, day, 3_600_000, 60_000, 1000];

export function durationOf(text: string): number | undefined {
  const found = pattern.exec(text.trim());
  if (found === null) return undefined;
  const [, weeks, years, months, days, time, hours, minutes, seconds] = found;
  const given = [weeks, years, months, days, hours, minutes, seconds];
  if (given.every((part) => part === undefined) || time === "T") return undefined;
  return given.reduce(
    (sum, part, i) => sum + Number((part ?? "0").replace(",", ".")) * (amounts[i] ?? 0),
    0,
  );
}
