/** Characters in XML: which may stand, and how the special ones are written. */
import { XmlException } from "../errors.ts";

/** What no XML document can hold, not even escaped. */
const illegal =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?:[^\uD800-\uDBFF]|^)[\uDC00-\uDFFF]/;

export function requireLegal(text: string): string {
  if (illegal.test(text)) {
    throw new XmlException("The text holds a character that is not allowed in XML.");
  }
  return text;
}

const names: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};

const reference = /&(?:(lt|gt|amp|quot|apos)|#(\d{1,10})|#x([0-9a-fA-F]{1,8}));|&/g;

/** The five named references and numbers; there is no document type that could define others. */
export function expandReferences(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(
    reference,
    (found: string, name?: string, decimal?: string, hex?: string) => {
      if (found === "&") throw new XmlException("Unknown or unfinished reference after '&'.");
      if (name !== undefined) return names[name] ?? "";
      return character(decimal === undefined ? Number(`0x${hex}`) : Number(decimal));
    },
  );
}

function character(code: number): string {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw new XmlException(`Character reference ${code} is not a character.`);
  }
  return requireLegal(String.fromCodePoint(code));
}

export const escapeText = (text: string): string =>
  /[&<>\r]/.test(text) ? text.replaceAll(/[&<>\r]/g, (found) => textEscapes[found] ?? found) : text;

export const escapeAttribute = (text: string): string =>
  /[&<>"\r\n\t]/.test(text)
    ? text.replaceAll(/[&<>"\r\n\t]/g, (found) => attributeEscapes[found] ?? found)
    : text;

const textEscapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\r": "&#xD;",
};

const attributeEscapes: Readonly<Record<string, string>> = {
  ...textEscapes,
  '"': "&quot;",
  "\n": "&#xA;",
  "\t": "&#x9;",
};
