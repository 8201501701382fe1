import { describe, expect, test } from "vitest";
import { soapText } from "./soap-answer.ts";

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(
    parts.map((part) =>
      typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part),
    ),
  );
const utf16 = (text: string, bigEndian = false) => {
  const little = Buffer.from(text, "utf16le");
  return bigEndian ? little.swap16() : little;
};

const turkish = bytes("<a>", [0xde, 0xfe, 0xdd, 0xfd, 0xd0, 0xf0], "</a>");
const declared = (encoding: string) =>
  bytes(`<?xml version="1.0" encoding="${encoding}"?><a>`, [0xde, 0xfd], "</a>");

describe("the character set of an answer", () => {
  test.each([
    ["of the header", "text/xml; charset=ISO-8859-9", turkish, "<a>ŞşİıĞğ</a>"],
    ["of the header, in quotes", 'text/xml;charset="windows-1254"', turkish, "<a>ŞşİıĞğ</a>"],
    [
      "of the declaration",
      "text/xml",
      declared("ISO-8859-9"),
      '<?xml version="1.0" encoding="ISO-8859-9"?><a>Şı</a>',
    ],
    [
      "of the header before that of the declaration",
      "text/xml; charset=windows-1254",
      declared("utf-8"),
      '<?xml version="1.0" encoding="utf-8"?><a>Şı</a>',
    ],
    ["none: UTF-8", undefined, Buffer.from("<a>Şı€</a>"), "<a>Şı€</a>"],
    ["an unknown one: UTF-8", "text/xml; charset=x-none", Buffer.from("<a>ı</a>"), "<a>ı</a>"],
    ["a byte order mark", "text/xml", Buffer.from("\ufeff<a>ı</a>"), "<a>ı</a>"],
    [
      "a byte order mark against the header",
      "text/xml; charset=iso-8859-9",
      Buffer.from("\ufeff<a>ı</a>"),
      "<a>ı</a>",
    ],
    ["UTF-16 with a mark", "text/xml", utf16("\ufeff<a>ı</a>"), "<a>ı</a>"],
    ["UTF-16, the other way round", "text/xml", utf16("\ufeff<a>ı</a>", true), "<a>ı</a>"],
    ["UTF-16 without a mark", "text/xml; charset=utf-16", utf16("<a>ı</a>"), "<a>ı</a>"],
    ["UTF-16 that says UTF-8", "text/xml; charset=utf-8", utf16("<a>ı</a>", true), "<a>ı</a>"],
    [
      "UTF-8 that says UTF-16",
      "text/xml",
      Buffer.from('<?xml version="1.0" encoding="utf-16"?><a>ı</a>'),
      '<?xml version="1.0" encoding="utf-16"?><a>ı</a>',
    ],
    ["bytes that are no text", "text/xml", bytes("<a>", [0xff, 0], "</a>"), "<a>\ufffd\ufffd</a>"],
    ["nothing", "text/xml", Buffer.alloc(0), ""],
  ])("%s", (_, contentType, body, text) => {
    expect(soapText(contentType, body)).toBe(text);
  });
});

describe("an answer with attachments", () => {
  const attachment = ["Content-ID: <pdf@x>", "Content-Type: application/pdf", "", "%PDF\r\n--"];
  const root = [
    "Content-ID: <root@x>",
    "Content-Type: application/xop+xml;",
    '  charset=iso-8859-9; type="text/xml"',
    "",
    "<a>\xfd</a>",
  ];
  const multipart = (...parts: string[][]) =>
    bytes([...parts.flatMap((part) => ["--b", ...part]), "--b--", ""].join("\r\n"));
  const type = 'multipart/related; type="application/xop+xml"; boundary="b"';

  test.each([
    ["its first part", type, multipart(root, attachment), "<a>ı</a>"],
    [
      "the part that start names",
      `${type}; start="<root@x>"`,
      multipart(attachment, root),
      "<a>ı</a>",
    ],
    [
      "its first part, when start names none",
      `${type}; start="<other@x>"`,
      multipart(root, attachment),
      "<a>ı</a>",
    ],
    [
      "a part in base64",
      type,
      multipart(["Content-Transfer-Encoding: base64", "", "PGEvPg=="]),
      "<a/>",
    ],
  ])("is read as %s", (_, contentType, body, text) => {
    expect(soapText(contentType, body)).toBe(text);
  });

  test.each([
    ["without a boundary", "multipart/related"],
    ["without parts", 'multipart/related; boundary="other"'],
  ])("%s is given as it came", (_, contentType) => {
    expect(soapText(contentType, Buffer.from("<a>ı</a>"))).toBe("<a>ı</a>");
  });
});
