/**
 * The XML text of a SOAP answer, from the bytes.
 *
 * The character set is the one of the byte order mark, else of the Content-Type, else of the XML
 * declaration, else UTF-8 (RFC 7303, section 3). An answer with attachments (`multipart/related`:
 * MTOM, SOAP with Attachments) is read as its root part; the attachments are left out.
 */
import { decodeText } from "./text-encoding.ts";

export function soapText(contentType: string | undefined, body: Uint8Array): string {
  const isMultipart = /^\s*multipart\/related\s*;/i.test(contentType ?? "");
  const root = isMultipart ? rootPart(contentType!, body) : undefined;
  return root === undefined ? decode(contentType, body) : decode(root.contentType, root.content);
}

const decode = (contentType: string | undefined, bytes: Uint8Array): string =>
  decodeText(bytes, unmarkedUtf16(bytes) ?? contentType, declaredCharset)
    // NUL is no character of XML, and no store takes it.
    .replaceAll("\0", "\ufffd");

/** A `<` of two bytes: UTF-16 without a mark, whatever it calls itself. */
function unmarkedUtf16([first, second]: Uint8Array): string | undefined {
  if (first === 0x3c && second === 0) return "text/xml; charset=utf-16le";
  return first === 0 && second === 0x3c ? "text/xml; charset=utf-16be" : undefined;
}

function declaredCharset(beginning: string): string | undefined {
  const declared = /^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']/.exec(beginning)?.[1];
  // A declaration that can be read byte by byte is not in UTF-16, whatever it says.
  return declared === undefined || /^utf-?16/i.test(declared) ? undefined : declared;
}

interface Part {
  readonly contentType: string | undefined;
  readonly content: Uint8Array;
}

/** The part that `start` names, else the first one; undefined when the parts cannot be told apart. */
function rootPart(contentType: string, body: Uint8Array): Part | undefined {
  const boundary = parameterOf(contentType, "boundary");
  const start = parameterOf(contentType, "start");
  if (boundary === undefined || boundary === "") return undefined;
  // One character per byte, so that the bytes of a part can be had back.
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1");
  const [, ...parts] = `\r\n${text}`.split(`\r\n--${boundary}`);
  const read = parts.flatMap((part) => {
    const end = part.indexOf("\r\n\r\n");
    if (part.startsWith("--") || end === -1) return [];
    return [{ head: part.slice(0, end), content: part.slice(end + 4) }];
  });
  const named = read.find(
    ({ head }) => start !== undefined && fieldOf(head, "content-id") === start,
  );
  const root = named ?? read[0];
  if (root === undefined) return undefined;
  const isBase64 = fieldOf(root.head, "content-transfer-encoding")?.toLowerCase() === "base64";
  return {
    contentType: fieldOf(root.head, "content-type"),
    content: Buffer.from(root.content, isBase64 ? "base64" : "latin1"),
  };
}

function parameterOf(contentType: string, name: string): string | undefined {
  const parameters = contentType.matchAll(/;\s*([\w-]+)=(?:"([^"]*)"|([^;\s]*))/g);
  for (const [, known, quoted, plain] of parameters) {
    if (known!.toLowerCase() === name) return quoted ?? plain;
  }
  return undefined;
}

const fieldOf = (head: string, name: string): string | undefined =>
  head
    .replaceAll(/\r\n[ \t]+/g, " ")
    .split("\r\n")
    .find((line) => line.toLowerCase().startsWith(`${name}:`))
    ?.slice(name.length + 1)
    .trim();
