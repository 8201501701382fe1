/** Reading JSON that nobody has checked yet: each reader answers `undefined` for another shape. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

/** The items, or none when the value is not a list. */
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Those items of a list that are objects. */
export const asObjects = (value: unknown): readonly JsonObject[] =>
  asList(value).filter((item): item is JsonObject => asObject(item) !== undefined);

export const asText = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

/** `null` is how real definitions write "not set". */
export const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

const longestShown = 80;

/** A value as a message shows it: short, and never the inside of an object. */
export function show(value: unknown): string {
  if (typeof value === "string") return `'${shorten(value)}'`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  const shown = String(value);
  return value === undefined ? "nothing" : shown;
}

export const shorten = (text: string): string =>
  text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;

/** `draft, check and done`; long lists end in "and 12 more". */
export function enumerate(words: readonly string[], most = 10): string {
  const shown = words.slice(0, most).map(shorten);
  const rest = words.length - shown.length;
  const parts = rest > 0 ? [...shown, `${rest} more`] : shown;
  const last = parts.pop();
  return parts.length === 0 ? (last ?? "none") : `${parts.join(", ")} and ${last}`;
}
