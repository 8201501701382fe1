/**
 * A text from outside as part of a message: one line of bounded length, without the characters that
 * could not be stored.
 */
const longest = 500;

export function oneLine(text: string): string {
  const line = text
    // Far more than is kept, so that a huge text costs no more than a long one.
    .slice(0, 10 * longest)
    // oxlint-disable-next-line no-control-regex -- these are what must not get into a message
    .replaceAll(/[\s\u0000-\u001f\u007f]+/g, " ")
    .replaceAll(/\p{Surrogate}/gu, "\ufffd")
    .trim();
  const letters = Array.from(line);
  return letters.length > longest ? `${letters.slice(0, longest).join("")}…` : line;
}
