/**
 * ISO 8601 instants, as filters compare them: a date, or a date and time with or without an offset.
 *
 * The pattern admits nothing that PostgreSQL would refuse to cast (31 April, 29 February of a common
 * year, the year 0000): the storage uses the same text to decide which stored values are instants,
 * and one odd row must not turn a list into an error. Digits are spelled `[0-9]`, because `\d` means
 * any script's digits to some servers.
 */
const year = "(?!0000)[0-9]{4}";
const leapYear =
  "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)";
const day = "(?:0[1-9]|[12][0-9]";
const date =
  `(?:${year}-(?:(?:0[13578]|1[02])-${day}|3[01])|(?:0[469]|11)-${day}|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))` +
  `|${leapYear}-02-29)`;
const time = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?";
const offset = "(?:[Zz]|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9])";

export const instantPattern = `^${date}(?:[Tt ]${time}${offset}?)?$`;

/** What an instant that names its offset ends with; one that does not is in UTC. */
export const offsetPattern = `:[0-9.]+${offset}$`;

const instant = new RegExp(instantPattern);
const withOffset = new RegExp(offsetPattern);

/** The instant with its offset spelled out, or undefined when the text is not one. */
export function readInstant(text: string): string | undefined {
  if (!instant.test(text)) return undefined;
  return withOffset.test(text) ? text : `${text}Z`;
}
