import { describe, expect, test } from "vitest";
import {
  XmlDocument,
  XmlNamespaceManager,
  type XmlNode,
} from "../../../../src/scripting/prelude/script.ts";

const shop = new XmlDocument();
shop.LoadXml(`<?xml version="1.0"?>
<shop xmlns:p="urn:p" open="yes">
  <!-- the list -->
  <item id="1" price="10"><name>Tea</name><p:note>hot</p:note></item>
  <item id="2" price="20.5"><name>Coffee <b>black</b></name></item>
  <item id="3"><name>  Cocoa
     sweet </name><item id="3.1"><name>Small</name></item></item>
  <other>text<![CDATA[ more]]></other>
  <?go on?>
</shop>`);
const namespaces = { n: "urn:p" };

/** What was found, in a form that shows at a glance. */
const shown = (node: XmlNode): string => {
  if (node.NodeType === "Element") {
    const id = node.Attributes?.GetNamedItem("id")?.Value;
    return node.LocalName + (id === undefined ? "" : `#${id}`);
  }
  return node.NodeType === "Attribute"
    ? `@${node.Name}=${node.Value}`
    : `${node.Name}:${node.Value?.trim()}`;
};
const found = (xpath: string, from: XmlNode = shop) =>
  from.SelectNodes(xpath, namespaces).map(shown).join(" ");

describe("paths", () => {
  test.each([
    ["/", "#document:undefined"],
    ["/shop", "shop"],
    ["shop/item", "item#1 item#2 item#3"],
    ["/shop/*", "item#1 item#2 item#3 other"],
    ["//item", "item#1 item#2 item#3 item#3.1"],
    ["//item/name", "name name name name"],
    ["//item//name", "name name name name"],
    ["//name/..", "item#1 item#2 item#3 item#3.1"],
    ["/shop/item[1]", "item#1"],
    ["//item[1]", "item#1 item#3.1"],
    ["(//item)[1]", "item#1"],
    ["(//item)[last()]", "item#3.1"],
    ["//item[last()]", "item#3 item#3.1"],
    ["//item[position() > 1]", "item#2 item#3"],
    ["//item[position() = 2]/@id", "@id=2"],
    ["//@id", "@id=1 @id=2 @id=3 @id=3.1"],
    ["//item/@*", "@id=1 @price=10 @id=2 @price=20.5 @id=3 @id=3.1"],
    ["/shop/@*", "@open=yes"],
    ["//n:note", "note"],
    ["//n:*", "note"],
    ["//note", ""],
    ["//item[@price]", "item#1 item#2"],
    ["//item[not(@price)]", "item#3 item#3.1"],
    ["//item[@id='2']", "item#2"],
    ['//item[@id="2"]/name/b', "b"],
    ["//item[@price > 10]", "item#2"],
    ["//item[@price >= 10 and @price < 20]", "item#1"],
    ["//item[@id = 1 or @id = 3]", "item#1 item#3"],
    ["//item[name = 'Tea']", "item#1"],
    ["//item[name != 'Tea']", "item#2 item#3 item#3.1"],
    ["//item[item]", "item#3"],
    ["//item[.//name = 'Small']", "item#3 item#3.1"],
    ["//item[2][@id='2']", "item#2"],
    ["//item[@price][2]", "item#2"],
    ["//text()[contains(., 'Tea')]", "#text:Tea"],
    ["/shop/other/text()", "#text:text #cdata-section:more"],
    ["/shop/comment()", "#comment:the list"],
    ["/shop/processing-instruction()", "go:on"],
    ["/shop/node()[1]", "#comment:the list"],
    ["//item | //name | //item", "item#1 name item#2 name item#3 name item#3.1 name"],
    ["//b | //@open | /shop", "shop @open=yes b"],
    ["/shop/child::item[2]", "item#2"],
    ["//b/ancestor::*", "shop item#2 name"],
    ["//b/ancestor::*[1]", "name"],
    ["//b/ancestor-or-self::*[2]", "name"],
    ["/descendant::item[4]", "item#3.1"],
    ["/shop/descendant-or-self::shop", "shop"],
    ["//item[@id='1']/following-sibling::item", "item#2 item#3"],
    ["//item[@id='1']/following-sibling::*[1]", "item#2"],
    ["//item[@id='3']/preceding-sibling::item", "item#1 item#2"],
    ["//item[@id='3']/preceding-sibling::item[1]", "item#2"],
    ["//item/following-sibling::item", "item#2 item#3"],
    ["//item/parent::shop", "shop"],
    ["//name/self::name[b]", "name"],
    ["//@id/..", "item#1 item#2 item#3 item#3.1"],
    ["//item[count(name) = 1 and position() mod 2 = 1]", "item#1 item#3 item#3.1"],
    ["//item[string-length(@id) > 1]", "item#3.1"],
    ["//*[local-name() = 'note']", "note"],
    ["//*[namespace-uri() = 'urn:p']", "note"],
    ["//*[name() = 'p:note']", "note"],
    ["//item[starts-with(name, 'Cof')]", "item#2"],
    ["//item[contains(translate(name, 'TE', 'te'), 'tea')]", "item#1"],
    ["//item[normalize-space(name) = 'Cocoa sweet']", "item#3"],
    ["//item[@id = //item[@price = 20.5]/@id]", "item#2"],
    ["shop/item/div", ""],
    ["//none", ""],
  ])("%s", (xpath, expected) => {
    expect(found(xpath)).toBe(expected);
  });

  test("start where they are asked", () => {
    const third = shop.SelectSingleNode("//item[@id='3']");

    expect(found("item", third)).toBe("item#3.1");
    expect(found("./name", third)).toBe("name");
    expect(found(".", third)).toBe("item#3");
    expect(found("..", third)).toBe("shop");
    expect(found("//item[1]/@id", third)).toBe("@id=1 @id=3.1");
    expect(found(".//item", third)).toBe("item#3.1");
    expect(found("@id", third)).toBe("@id=3");
  });

  test("an element outside the document is its own root", () => {
    const element = shop.CreateElement("x");
    element.InnerXml = "<y/><y/>";

    expect(found("//y", element)).toBe("y y");
    expect(found("/x/y", element)).toBe("");
  });
});

describe("values", () => {
  test.each<[string, unknown]>([
    ["count(//item)", 4],
    ["sum(//@price)", 30.5],
    ["1 + 2 * 3 - -4", 11],
    ["7 div 2", 3.5],
    ["7 mod -2", 1],
    ["1 div 0", Number.POSITIVE_INFINITY],
    ["string(1 div 0)", "Infinity"],
    ["string(0.1 + 0.2)", "0.30000000000000004"],
    ["string(1000000000000000000000000)", "999999999999999983222784"],
    ["string(-0)", "0"],
    ["string(//none)", ""],
    ["string(//item/@price)", "10"],
    ["number('12.50')", 12.5],
    ["number('x')", Number.NaN],
    ["number(true())", 1],
    ["floor(2.7) + ceiling(2.1) + round(2.5)", 8],
    ["concat('a', 1, true())", "a1true"],
    ["substring('12345', 2, 3)", "234"],
    ["substring('12345', 1.5, 2.6)", "234"],
    ["substring('12345', 0, 3)", "12"],
    ["substring('12345', 2)", "2345"],
    ["substring('12345', 0 div 0, 3)", ""],
    ["substring-before('a=b=c', '=')", "a"],
    ["substring-after('a=b=c', '=')", "b=c"],
    ["substring-after('abc', 'x')", ""],
    ["string-length('😀a')", 2],
    ["normalize-space('  a  b ')", "a b"],
    ["translate('bar', 'abc', 'AB')", "BAr"],
    ["boolean(//none)", false],
    ["boolean('false')", true],
    ["boolean(0)", false],
    ["not(false())", true],
    ["//item/@id = 3", true],
    ["//item/@id != 3", true],
    ["//none = //none", false],
    ["//none != 'x'", false],
    ["//@id < //@price", true],
    ["'a' = 'a' and 1 != 2", true],
    ["1 < 2 = true()", true],
    ["position() + last()", 2],
    ["local-name(/*)", "shop"],
    ["name(//@id)", "id"],
    ["2>1", true],
    ["6 div 2*3", 9],
  ])("%s", (xpath, value) => {
    expect(shop.Evaluate(xpath, namespaces)).toEqual(value);
  });
});

describe("namespaces", () => {
  const document = new XmlDocument();
  document.LoadXml('<a xmlns="urn:d"><b/></a>');

  test("a default namespace needs a prefix in the expression", () => {
    const manager = new XmlNamespaceManager(document.NameTable);
    manager.AddNamespace("d", "urn:d");

    expect(document.SelectSingleNode("/a/b")).toBeNull();
    expect(document.SelectSingleNode("/d:a/d:b", manager)?.Name).toBe("b");
    expect(document.SelectSingleNode("/d:a/d:b", { d: "urn:d" })?.Name).toBe("b");
    expect(document.SelectSingleNode("//*[local-name()='b']")?.Name).toBe("b");
  });

  test("a prefix that nobody declared is an error", () => {
    expect(() => document.SelectNodes("//d:b")).toThrow("Namespace prefix 'd' is not defined.");
    expect(() => document.SelectNodes("//toString:b", {})).toThrow("is not defined");
  });
});

describe("errors", () => {
  test.each([
    ["", "ends too early"],
    ["/shop/", "ends too early"],
    ["//item[", "ends too early"],
    ["//item[@id='1'", "ends too early"],
    ["//item]", "has an invalid token at 7"],
    ["a b", "has an invalid token at 3"],
    ["'open", "has an invalid token at 1"],
    ["#", "has an invalid token at 1"],
    ["foo()", "'foo()' is an unknown XPath function."],
    ["count()", "invalid number of arguments"],
    ["count(1)", "count() needs a node-set."],
    ["following::a", "The axis 'following' is not supported."],
    ["toString::a", "is not supported"],
    ["1 + 1", "Expression must evaluate to a node-set."],
    ["$x", "has an invalid token at 1"],
    [`${"(".repeat(100)}1${")".repeat(100)}`, "nested too deep"],
    ["x".repeat(5000), "4096 characters"],
  ])("%s", (xpath, message) => {
    expect(() => shop.SelectNodes(xpath)).toThrow(
      expect.objectContaining({
        name: "XPathException",
        message: expect.stringContaining(message),
      }),
    );
  });
});

describe("long lists", () => {
  const many = 40_000;
  const list = new XmlDocument();
  list.LoadXml(
    `<l>${Array.from({ length: many }, (_, i) => `<i id="${i}"><n>${i}</n></i>`).join("")}</l>`,
  );

  test.each([
    ["//i[@id='19999']/n", 1],
    ["//i/n", many],
    ["//i/following-sibling::i", many - 1],
    ["//i/preceding-sibling::i", many - 1],
    ["//i/following-sibling::i[1]", many - 1],
    ["//n/ancestor::*", many + 1],
    ["//n | //i | //@id", many * 3],
    ["//*//n", many],
    ["//n/../..", 1],
    ["//i[n = //i/@id]", many, 40],
    ["/l/i[position() mod 2 = 0]", many / 2],
  ])("%s does not take the square of the length", (xpath, count, of = many) => {
    const small = of === many ? list : shorter(of);
    const began = performance.now();

    expect(small.SelectNodes(xpath).Count).toBe(of === many ? count : of);
    expect(performance.now() - began).toBeLessThan(30_000);
  });

  function shorter(length: number) {
    const document = new XmlDocument();
    document.LoadXml(list.OuterXml);
    for (const child of document.DocumentElement!.ChildNodes.slice(length)) {
      document.DocumentElement!.RemoveChild(child);
    }
    return document;
  }

  test("the order follows the document after a change", () => {
    const document = new XmlDocument();
    document.LoadXml("<r><a/><b/><c/></r>");
    const root = document.DocumentElement!;
    expect(found("//c | //a", document)).toBe("a c");

    root.PrependChild(root.LastChild!);

    expect(found("//a | //c", document)).toBe("c a");
  });
});
