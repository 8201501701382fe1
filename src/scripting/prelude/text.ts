/** A text from whatever a script passed where one was asked for; null and undefined are empty. */
export function textFrom(value: unknown): string {
  if (typeof value === "string") return value;
  // What an object says of itself is the script's own affair.
  // oxlint-disable-next-line typescript/no-base-to-string
  return value === null || value === undefined ? "" : String(value);
}
