import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ScriptBase, XmlDocument } from "../../../../src/scripting/prelude/script.ts";

const parsed = (xml: string) => {
  const document = ScriptBase.ParseXml(xml);
  expect(document, xml).not.toBeNull();
  return document!;
};

const nested = (depth: number) => `${"<a>".repeat(depth)}${"</a>".repeat(depth)}`;
const listOf = (n: number) => `<l>${'<i id="1"><n>x &amp; y</n></i>'.repeat(n)}</l>`;
const timed = (xml: string) => {
  const began = performance.now();
  parsed(xml);
  return performance.now() - began;
};

describe("read and written again", () => {
  test.each([
    ["an element", "<a />"],
    ["an element that is open", "<a></a>"],
    ["text", "<a>x &amp; y &lt; z &gt; w</a>"],
    ["a declaration", '<?xml version="1.0" encoding="utf-8" standalone="yes"?><a />'],
    ["attributes", `<a b="1" c="&lt;&amp;&quot;'" />`],
    ["white space in attributes", '<a b="&#xA;&#x9;&#xD;" />'],
    ["CDATA", "<a><![CDATA[<x> & ]]></a>"],
    ["comments", "<!-- before --><a><!-- in --></a><!-- after -->"],
    ["processing instructions", "<?go there?><a><?x?></a>"],
    ["namespaces", '<s:a xmlns:s="urn:s" xmlns="urn:d"><b s:c="1" /></s:a>'],
    ["a namespace undone", '<a xmlns="urn:d"><b xmlns="" /></a>'],
    ["a prefix that changes its meaning", '<p:a xmlns:p="urn:1"><p:b xmlns:p="urn:2" /></p:a>'],
    ["xml:lang", '<a xml:lang="tr">x</a>'],
    ["names of all scripts", "<işlem-türü_1.a><日本>x</日本></işlem-türü_1.a>"],
    ["letters beyond the first plane", "<a>😀</a>"],
    ["mixed content", "<a>x<b>y</b>z</a>"],
  ])("%s", (_, xml) => {
    expect(parsed(xml).OuterXml).toBe(xml);
  });

  test.each([
    ["white space between elements is dropped", "<a>\n  <b>x</b>\n</a>", "<a><b>x</b></a>"],
    [
      "xml:space keeps it",
      '<a xml:space="preserve"> <b /> </a>',
      '<a xml:space="preserve"> <b /> </a>',
    ],
    ["single quotes become double", "<a b='\"' />", '<a b="&quot;" />'],
    ["lines end in one way", "<a>x\r\ny\rz</a>", "<a>x\ny\nz</a>"],
    ["references become characters", "<a>&#65;&#x42;&apos;&quot;</a>", "<a>AB'\"</a>"],
    ["lines in attributes become spaces", '<a b="x\r\ny\tz" />', '<a b="x y z" />'],
    ["space in tags is no matter", "<a\n b = '1'\t></a  >", '<a b="1"></a>'],
    ["a byte order mark is skipped", "\uFEFF<a />", "<a />"],
    ["space after the root is no matter", "<a />\n\n", "<a />"],
  ])("%s", (_, xml, written) => {
    expect(parsed(xml).OuterXml).toBe(written);
  });

  test("PreserveWhitespace keeps what is nothing but space", () => {
    const document = new XmlDocument();
    document.PreserveWhitespace = true;
    document.LoadXml("<a> <b /> </a>");

    expect(document.OuterXml).toBe("<a> <b /> </a>");
  });
});

describe("refused", () => {
  test.each([
    ["nothing but text", "x"],
    ["two roots", "<a /><b />"],
    ["text behind the root", "<a />x"],
    ["CDATA at the root", "<![CDATA[x]]><a />"],
    ["an unclosed element", "<a><b></b>"],
    ["elements that overlap", "<a><b></a></b>"],
    ["an end without a start", "</a>"],
    ["an end tag that goes on", "<a></ab>"],
    ["an attribute without quotes", "<a b=1 />"],
    ["an attribute without a value", "<a b />"],
    ["attributes without space", '<a b="1"c="2" />'],
    ["the same attribute twice", '<a b="1" b="2" />'],
    ["the same attribute twice by namespace", '<a xmlns:p="u" xmlns:q="u" p:b="1" q:b="2" />'],
    ["< in an attribute", '<a b="<" />'],
    ["an undeclared prefix", "<p:a />"],
    ["an undeclared prefix of an attribute", '<a p:b="1" />'],
    ["a prefix declared as nothing", '<a xmlns:p="" />'],
    ["xmlns declared", '<a xmlns:xmlns="u" />'],
    ["a name with two colons", '<a:b:c xmlns:a="u" />'],
    ["a name that starts with a digit", "<1a />"],
    ["a bare &", "<a>x & y</a>"],
    ["an entity of its own", "<a>&nbsp;</a>"],
    ["a reference to no character", "<a>&#0;</a>"],
    ["a reference to half a character", "<a>&#xD800;</a>"],
    ["a reference beyond all characters", "<a>&#x110000;</a>"],
    ["a control character", "<a>\u0001</a>"],
    ["half a character", "<a>\uD83D</a>"],
    ["]]> in text", "<a>x]]>y</a>"],
    ["-- in a comment", "<a><!-- a -- b --></a>"],
    ["a comment without an end", "<a><!-- "],
    ["CDATA without an end", "<a><![CDATA["],
    ["a declaration that is not first", ' <?xml version="1.0"?><a />'],
    ["a declaration without a version", "<?xml encoding='utf-8'?><a />"],
    ["a document type", "<!DOCTYPE a><a />"],
    [
      "a document type with an entity",
      '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    ],
    ["a half tag", "<"],
  ])("%s", (_, xml) => {
    expect(ScriptBase.ParseXml(xml)).toBeNull();
  });

  test("LoadXml says what and where, and leaves the document empty", () => {
    const document = new XmlDocument();
    document.LoadXml("<a />");

    expect(() => document.LoadXml("<a>\n<b></c></a>")).toThrow(
      expect.objectContaining({
        name: "XmlException",
        message: "An end tag does not match its start tag. Line 2, position 4.",
      }),
    );
    expect(document.DocumentElement).toBeNull();
  });
});

describe("limits", () => {
  const laughs = `<!DOCTYPE l [<!ENTITY a "lol">${Array.from({ length: 20 }, (_, i) => `<!ENTITY a${i} "${"&a;".repeat(10)}">`).join("")}]><l>&a19;</l>`;

  test.each([
    ["an entity bomb", laughs],
    ["deep nesting", "<a>".repeat(200_000)],
    ["deep nesting, closed", `${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}`],
    ["half tags", "<a ".repeat(200_000)],
    ["open comments", "<a><!--".repeat(100_000)],
    ["open attributes", '<a b="'.repeat(100_000)],
    ["references without an end", `<a>${"&#".repeat(500_000)}</a>`],
    ["spaces in a tag", `<a${" ".repeat(1_000_000)}<`],
    ["more than five megabytes", `<a>${"x".repeat(5 * 1024 * 1024)}</a>`],
  ])("%s ends in null, soon", (_, xml) => {
    const began = performance.now();

    expect(ScriptBase.ParseXml(xml)).toBeNull();
    // Quadratic work would take minutes.
    expect(performance.now() - began).toBeLessThan(30_000);
  });

  test("512 levels are read, 513 are not", () => {
    expect(parsed(nested(512)).OuterXml).toBe(nested(512));
    expect(ScriptBase.ParseXml(nested(513))).toBeNull();
  });

  test("time grows with the length", () => {
    timed(listOf(2000));

    expect(timed(listOf(40_000))).toBeLessThan(Math.max(60, timed(listOf(4000))) * 60);
  });
});

describe("properties", () => {
  const name = fc.stringMatching(/^[a-z_][a-z0-9_.-]{0,5}$/).filter((text) => !/^xml/i.test(text));
  const legal = fc
    .string({ unit: "grapheme" })
    // oxlint-disable-next-line no-control-regex
    .map((text) => text.replaceAll(/[\u0000-\u001F\uFFFE\uFFFF\uD800-\uDFFF]/g, ""));
  const escaped = legal.map((text) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  );
  const attributes = fc
    .uniqueArray(fc.tuple(name, escaped), { selector: ([key]) => key, maxLength: 3 })
    .map((list) =>
      list.map(([key, text]) => ` ${key}="${text.replaceAll('"', "&quot;")}"`).join(""),
    );
  const content = escaped.filter((text) => text.trim() !== "");
  const { element } = fc.letrec<{ element: string }>((tie) => ({
    element: fc
      .tuple(
        name,
        attributes,
        fc.array(
          fc.oneof(
            { depthSize: "small", withCrossShrink: true },
            content,
            fc.constant("<!-- c -->"),
            fc.constant("<![CDATA[<]]>"),
            tie("element"),
          ),
          { maxLength: 4 },
        ),
      )
      .map(([tag, list, parts]) => {
        // Texts that touch would be one.
        const apart = parts.flatMap((part, i) => (i === 0 ? [part] : ["<!-- c -->", part]));
        return `<${tag}${list}>${apart.join("")}</${tag}>`;
      }),
  }));

  test("what is read and written is what was there", () => {
    fc.assert(
      fc.property(element, (xml) => {
        expect(ScriptBase.ParseXml(xml)?.OuterXml).toBe(xml);
      }),
    );
  });

  test("nothing makes ParseXml throw, and what it accepts it can write and read again", () => {
    const parts = fc.constantFrom(
      ..."< > / = ' \" & ; ! ? - [ ] <a> </a> <a/> <a b='c'> <!-- --> <![CDATA[ ]]> &lt; &#x41; <?xml ?> xmlns= xmlns:p='u' <p:a> x \n \u0000 \uD800 <!DOCTYPE".split(
        " ",
      ),
    );
    const garbage = fc.oneof(
      fc.string(),
      fc.array(parts, { maxLength: 30 }).map((p) => p.join("")),
    );
    fc.assert(
      fc.property(garbage, (text) => {
        const document = ScriptBase.ParseXml(text);
        if (document === null) return;
        const written = document.OuterXml;
        expect(ScriptBase.ParseXml(written)?.OuterXml).toBe(written);
      }),
      { numRuns: 2000 },
    );
  });

  test("EscapeXml makes any legal text safe inside an element and an attribute", () => {
    fc.assert(
      fc.property(legal, (text) => {
        const safe = ScriptBase.EscapeXml(text);
        const document = ScriptBase.ParseXml(`<a b="${safe}"><c>x${safe}</c></a>`);
        expect(document?.DocumentElement?.GetAttribute("b")).toBe(text);
        expect(document?.DocumentElement?.InnerText).toBe(`x${text}`);
      }),
    );
  });
});
