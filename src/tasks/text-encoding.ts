/** Bytes to text and back, by the charset that a content type names. */
import { TextDecoder } from "node:util";

/** UTF-8 unless a byte order mark, the content type or the text itself (XML) says otherwise. */
export function decodeText(
  bytes: Uint8Array,
  contentType: string | undefined,
  /** Of a format that names its charset inside: finds the name at the beginning of the text. */
  charsetIn?: (beginning: string) => string | undefined,
): string {
  const label =
    markedCharset(bytes) ??
    charsetOf(contentType) ??
    charsetIn?.(Buffer.from(bytes.subarray(0, 1024)).toString("latin1"));
  return decoderFor(label).decode(bytes);
}

/** `text/xml; charset="ISO-8859-9"` → `ISO-8859-9`. */
export const charsetOf = (contentType: string | undefined): string | undefined =>
  /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i
    .exec(contentType ?? "")
    ?.slice(1)
    .find((label) => label !== undefined);

function markedCharset(bytes: Uint8Array): string | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return undefined;
}

/** A label nobody knows is no reason to lose the answer: nearly everything is UTF-8. */
function decoderFor(label: string | undefined): TextDecoder {
  try {
    return new TextDecoder(label ?? "utf-8");
  } catch {
    return new TextDecoder("utf-8");
  }
}

/** What we can write, and the last character that each has. */
const writers: ReadonlyMap<string, { encoding: BufferEncoding; last: number }> = new Map([
  ["utf-8", { encoding: "utf8", last: 0x10ffff }],
  ["utf8", { encoding: "utf8", last: 0x10ffff }],
  ["utf-16le", { encoding: "utf16le", last: 0x10ffff }],
  ["iso-8859-1", { encoding: "latin1", last: 0xff }],
  ["us-ascii", { encoding: "latin1", last: 0x7f }],
]);

/** Undefined when the charset is one we cannot write, or the text has characters it lacks. */
export function encodeText(text: string, contentType: string | undefined): Uint8Array | undefined {
  const writer = writers.get(charsetOf(contentType)?.toLowerCase() ?? "utf-8");
  if (writer === undefined) return undefined;
  const { encoding, last } = writer;
  for (const character of last < 0x10ffff ? text : "") {
    if (character.codePointAt(0)! > last) return undefined;
  }
  return Buffer.from(text, encoding);
}
