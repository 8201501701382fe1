import { describe, expect, test } from "vitest";
import { charsetOf, decodeText, encodeText } from "./text-encoding.ts";

test.each([
  [undefined, undefined],
  ["text/plain", undefined],
  ["text/plain; charset=utf-8", "utf-8"],
  ["text/xml;Charset = ISO-8859-9 ; q=1", "ISO-8859-9"],
  ['text/xml; action="x"; charset="utf-16"', "utf-16"],
])("the charset of %s is %s", (contentType, charset) => {
  expect(charsetOf(contentType)).toBe(charset);
});

describe("text is decoded by", () => {
  const latin1 = Buffer.from("é", "latin1");
  const declared = () => "iso-8859-1";

  test("UTF-8 when nothing is said", () => {
    expect(decodeText(Buffer.from("é"), undefined)).toBe("é");
  });

  test("what the content type says", () => {
    expect(decodeText(latin1, "text/plain; charset=iso-8859-1", () => "utf-8")).toBe("é");
  });

  test("what the text itself says when the content type is silent", () => {
    expect(decodeText(latin1, "text/xml", declared)).toBe("é");
  });

  test.each([
    ["utf-8", Buffer.from("\u{feff}é")],
    ["utf-16le", Buffer.from("\u{feff}é", "utf16le")],
    ["utf-16be", Buffer.from("\u{feff}é", "utf16le").swap16()],
  ])("its byte order mark before all else (%s), which is not part of it", (_, bytes) => {
    expect(decodeText(bytes, "text/plain; charset=iso-8859-1", declared)).toBe("é");
  });

  test("UTF-8 when the charset is unknown", () => {
    expect(decodeText(Buffer.from("é"), "text/plain; charset=none")).toBe("é");
  });
});

test.each([
  ["é", undefined, "c3a9"],
  ["é", "text/plain; charset=UTF-8", "c3a9"],
  ["é", "text/plain; charset=ISO-8859-1", "e9"],
  ["é", "text/plain; charset=utf-16le", "e900"],
  ["e", "text/plain; charset=us-ascii", "65"],
  ["ş", "text/plain; charset=iso-8859-1", undefined],
  ["é", "text/plain; charset=us-ascii", undefined],
  ["e", "text/plain; charset=koi8-r", undefined],
  ["e", "text/plain; charset=constructor", undefined],
])("%s for %s is written as %s", (text, contentType, hex) => {
  const bytes = encodeText(text, contentType);

  expect(bytes === undefined ? undefined : Buffer.from(bytes).toString("hex")).toBe(hex);
});
