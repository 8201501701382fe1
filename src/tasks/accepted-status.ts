/**
 * Whether a status is a success: 2xx always, and what `acceptedStatusCodes` lists. An item is a
 * status (`404`), or a pattern whose trailing `x` stand for any digit (`4xx`, `40x`).
 */
export const isAcceptedStatus = (status: number, accepted: unknown): boolean =>
  (status >= 200 && status <= 299) ||
  (Array.isArray(accepted) && accepted.some((item) => matches(status, String(item).trim())));

/** Items are checked at publish; one that a later hand wrote wrongly matches nothing. */
function matches(status: number, item: string): boolean {
  if (!/^[1-9](?:\d\d|\dx|xx)$/i.test(item)) return false;
  const digits = item.replace(/x+$/i, "");
  return String(status).startsWith(digits);
}
