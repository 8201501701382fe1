/**
 * The reason of a SOAP fault, for messages. A script reads the answer with `ParseXml`; this is one
 * pass over the head of a text that nobody has checked: nothing in it is expanded or fetched, and a
 * document type ends the reading.
 */
import { oneLine } from "./one-line.ts";

const scannedLength = 64 * 1024;

// What may follow the name cannot continue it: else a long name would be tried at every length.
const tag = /<(\/?)([^\s/<>"']+)(?:[\s/](?:[^<>"']|"[^"]*"|'[^']*')*)?>/y;

/** Undefined when the text is no fault, or none that can be read so. */
export function faultReason(xml: string): string | undefined {
  const text = xml.slice(0, scannedLength);
  const path: string[] = [];
  let reason = "";
  let at = 0;
  const skip = (open: number, end: string): string => {
    const to = text.indexOf(end, open);
    at = to === -1 ? text.length : to + end.length;
    return text.slice(open, to === -1 ? text.length : to);
  };
  for (let open = text.indexOf("<"); open !== -1; open = text.indexOf("<", at)) {
    if (isReason(path)) reason += withoutReferences(text.slice(at, open));
    if (text.startsWith("<!--", open)) {
      skip(open, "-->");
    } else if (text.startsWith("<![CDATA[", open)) {
      const data = skip(open, "]]>").slice("<![CDATA[".length);
      if (isReason(path)) reason += data;
    } else if (text.startsWith("<?", open)) {
      skip(open, "?>");
    } else {
      tag.lastIndex = open;
      const found = text.startsWith("<!", open) ? null : tag.exec(text);
      if (found === null) return undefined;
      at = tag.lastIndex;
      if (found[1] === "/") {
        if (isReason(path)) return oneLine(reason) || undefined;
        path.pop();
      } else if (!found[0].endsWith("/>")) {
        path.push(found[2]!.slice(found[2]!.indexOf(":") + 1));
      }
    }
  }
  return undefined;
}

/** SOAP 1.1: Fault/faultstring. SOAP 1.2: Fault/Reason/Text, of which the first one counts. */
const isReason = (path: readonly string[]): boolean => {
  const [third, second, last] = path.slice(-3);
  return (
    (last === "faultstring" && second === "Fault") ||
    (last === "Text" && second === "Reason" && third === "Fault")
  );
};

const named: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};

const withoutReferences = (text: string): string =>
  text.replaceAll(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(lt|gt|amp|quot|apos));/gi,
    (reference, hexadecimal?: string, decimal?: string, name?: string) =>
      name === undefined
        ? character(Number.parseInt(hexadecimal ?? decimal!, hexadecimal === undefined ? 10 : 16))
        : (named[name] ?? reference),
  );

/** Beyond all characters, or half a pair of them: `oneLine` takes out the latter. */
const character = (code: number): string =>
  code > 0x10_ff_ff ? "\ufffd" : String.fromCodePoint(code);
