/** Characters in XML: which may stand, and how the special ones are written. */
import { XmlException } from "../errors.ts";

/**
 * What no XML document can hold, not even escaped; surrogates are suspects. One class of characters,
 * because the sandbox's engine tries alternatives one after the other at every character.
 */
// oxlint-disable-next-line no-control-regex
const suspect = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uD800-\uDFFF\uFFFE\uFFFF]/;
const illegal =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?:[^\uD800-\uDBFF]|^)[\uDC00-\uDFFF]/;

export function requireLegal(text: string): string {
  if (suspect.test(text) && illegal.test(text)) {
    throw new XmlException("The text holds a character that is not allowed in XML.");
  }
  return text;
}

/** Whether a stretch of text needs more than copying: most do not, and one look tells. */
// oxlint-disable-next-line no-control-regex
const special = /[\u0000-\u0008\u000B-\u001F&\]\uD800-\uDFFF\uFFFE\uFFFF]/;
// oxlint-disable-next-line no-control-regex
const specialInAttribute = /[\u0000-\u001F&\uD800-\uDFFF\uFFFE\uFFFF]/;

/** Character data as the application sees it. */
export function readText(raw: string): string {
  if (!special.test(raw)) return raw;
  if (raw.includes("]]>")) throw new XmlException("']]>' cannot stand in text.");
  return expandReferences(readLines(raw));
}

/** The same without references: comments, CDATA, processing instructions. */
export const readLines = (raw: string): string =>
  special.test(raw) ? requireLegal(raw).replaceAll(/\r\n?/g, "\n") : raw;

export const readAttribute = (raw: string): string =>
  specialInAttribute.test(raw)
    ? expandReferences(requireLegal(raw).replaceAll(/\r\n|[\t\r\n]/g, " "))
    : raw;

const names: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};

const reference = /&(?:(lt|gt|amp|quot|apos)|#(\d{1,10})|#x([0-9a-fA-F]{1,8}));/g;
const badReference = /&(?!(?:lt|gt|amp|quot|apos|#\d{1,10}|#x[0-9a-fA-F]{1,8});)/;

/** The five named references and numbers; there is no document type that could define others. */
function expandReferences(text: string): string {
  if (!text.includes("&")) return text;
  if (badReference.test(text)) {
    throw new XmlException("Unknown or unfinished reference after '&'.");
  }
  return text.replaceAll(reference, (_, name?: string, decimal?: string, hex?: string) => {
    if (name !== undefined) return names[name] ?? "";
    return character(decimal === undefined ? Number(`0x${hex}`) : Number(decimal));
  });
}

function character(code: number): string {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw new XmlException(`Character reference ${code} is not a character.`);
  }
  return requireLegal(String.fromCodePoint(code));
}

const inText = /[&<>\r]/;
const inAttribute = /[&<>"\r\n\t]/;

export const escapeText = (text: string): string =>
  inText.test(text) ? text.replaceAll(/[&<>\r]/g, (found) => escapes[found] ?? found) : text;

export const escapeAttribute = (text: string): string =>
  inAttribute.test(text)
    ? text.replaceAll(/[&<>"\r\n\t]/g, (found) => escapes[found] ?? found)
    : text;

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#xD;",
  "\n": "&#xA;",
  "\t": "&#x9;",
};
