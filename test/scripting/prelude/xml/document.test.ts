import { describe, expect, test } from "vitest";
import {
  ScriptBase,
  XmlDocument,
  type XmlElement,
  XmlNamespaceManager,
} from "../../../../src/scripting/prelude/script.ts";

const load = (xml: string) => {
  const document = new XmlDocument();
  document.LoadXml(xml);
  return document;
};
const root = (xml: string): XmlElement => load(xml).DocumentElement!;

const envelope = `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><m:Get xmlns:m="urn:m" id="7" m:kind="x"><m:Name>Ada</m:Name><m:Name>Bob</m:Name></m:Get></soap:Body></soap:Envelope>`;
const soap = "http://schemas.xmlsoap.org/soap/envelope/";

const names = (element: XmlElement) => element.ChildNodes.map((node) => node.Name).join("");

describe("reading", () => {
  const get = load(envelope).GetElementsByTagName("m:Get")[0]!;

  test("names", () => {
    expect(get).toMatchObject({
      Name: "m:Get",
      LocalName: "Get",
      Prefix: "m",
      NamespaceURI: "urn:m",
      NodeType: "Element",
    });
  });

  test("attributes: by name, by position, by namespace", () => {
    expect(get.Attributes["id"].Value).toBe("7");
    expect(get.Attributes["m:kind"].Value).toBe("x");
    expect(get.Attributes["none"]).toBeUndefined();
    expect(get.Attributes.GetNamedItem("id")?.Value).toBe("7");
    expect(get.Attributes.GetNamedItem("kind", "urn:m")?.OwnerElement).toBe(get);
    expect([get.GetAttribute("id"), get.GetAttribute("none")]).toEqual(["7", ""]);
    expect(get.GetAttribute("kind", "urn:m")).toBe("x");
    expect([get.HasAttribute("id"), get.HasAttribute("kind"), get.HasAttributes]).toEqual([
      true,
      false,
      true,
    ]);
    expect([...get.Attributes].map((attribute) => attribute.Name)).toEqual([
      "xmlns:m",
      "id",
      "m:kind",
    ]);
    expect([get.Attributes.Count, get.Attributes.length, get.Attributes.Item(1)?.Value]).toEqual([
      3,
      3,
      "7",
    ]);
  });

  test("an attribute called like the collection's own members does not hide them", () => {
    const { Attributes } = root('<a Count="9" constructor="x" />');

    expect(Attributes.Count).toBe(2);
    expect(Attributes.GetNamedItem("Count")?.Value).toBe("9");
  });

  test("relatives", () => {
    const [first, second] = [get.FirstChild!, get.LastChild!];

    expect([first.InnerText, second.InnerText]).toEqual(["Ada", "Bob"]);
    expect(first.NextSibling).toBe(second);
    expect(second.PreviousSibling).toBe(first);
    expect([second.NextSibling, first.PreviousSibling]).toEqual([null, null]);
    expect(first.ParentNode).toBe(get);
    expect(get.ChildNodes.Count).toBe(2);
    expect(get.ChildNodes.Item(5)).toBeNull();
    expect([...get.ChildNodes].map((node) => node.InnerText)).toEqual(["Ada", "Bob"]);
    expect([get.HasChildNodes, first.FirstChild?.HasChildNodes]).toEqual([true, false]);
  });

  test("text and markup", () => {
    const node = root("<a>x<b>y<!-- c --></b><![CDATA[<z>]]></a>");

    expect(node.InnerText).toBe("xy<z>");
    expect(node.InnerXml).toBe("x<b>y<!-- c --></b><![CDATA[<z>]]>");
    expect(node.OuterXml).toBe("<a>x<b>y<!-- c --></b><![CDATA[<z>]]></a>");
    expect(node.Value).toBeNull();
    expect(node.ChildNodes.map(({ NodeType, Name, Value }) => [NodeType, Name, Value])).toEqual([
      ["Text", "#text", "x"],
      ["Element", "b", null],
      ["CDATA", "#cdata-section", "<z>"],
    ]);
  });

  test("a node inside takes its namespaces along", () => {
    expect(get.FirstChild?.OuterXml).toBe('<m:Name xmlns:m="urn:m">Ada</m:Name>');
  });

  test.each([
    ["a local name", "Name", undefined, 2],
    ["a qualified name", "m:Name", undefined, 2],
    ["everything", "*", undefined, 5],
    ["a namespace", "Name", "urn:m", 2],
    ["everything of a namespace", "*", soap, 2],
    ["any namespace", "Get", "*", 1],
    ["another namespace", "Name", "urn:x", 0],
    ["nothing", "None", undefined, 0],
  ])("GetElementsByTagName: %s", (_, name, namespace, count) => {
    expect(load(envelope).GetElementsByTagName(name, namespace).Count).toBe(count);
  });

  test("prefixes and namespaces in scope", () => {
    expect(get.GetNamespaceOfPrefix("soap")).toBe(soap);
    expect(get.GetPrefixOfNamespace(soap)).toBe("soap");
    expect(get.GetNamespaceOfPrefix("none")).toBe("");
  });

  test("XML in JSON and in a text is its markup", () => {
    expect(JSON.stringify({ xml: root("<a/>") })).toBe('{"xml":"<a />"}');
    expect(load("<a>1</a>").toString()).toBe("<a>1</a>");
  });
});

describe("an envelope made from nothing", () => {
  test("has the declarations it needs", () => {
    const document = new XmlDocument();
    document.AppendChild(document.CreateXmlDeclaration("1.0", "utf-8", null));
    const outer = document.CreateElement("soap", "Envelope", soap);
    const body = document.CreateElement("soap:Body", soap);
    const get = document.CreateElement("Get", "urn:m");
    const name = document.CreateElement("Name", "urn:m");
    name.AppendChild(document.CreateTextNode("Ada & Bob"));
    get.SetAttribute("id", "7");
    get.SetAttribute("kind", "urn:k", "x");
    get.AppendChild(name);
    get.AppendChild(document.CreateElement("plain"));
    body.AppendChild(get);
    outer.AppendChild(body);
    document.AppendChild(outer);

    expect(document.OuterXml).toBe(
      `<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="${soap}"><soap:Body><Get xmlns="urn:m" xmlns:d2p1="urn:k" id="7" d2p1:kind="x"><Name>Ada &amp; Bob</Name><plain xmlns="" /></Get></soap:Body></soap:Envelope>`,
    );
    expect(ScriptBase.ParseXml(document.OuterXml)?.OuterXml).toBe(document.OuterXml);
  });

  test.each([
    [
      "a declaration that says otherwise is replaced",
      (d: XmlDocument) => {
        const e = d.CreateElement("p:a", "urn:1");
        e.SetAttribute("xmlns:p", "urn:2");
        return e;
      },
      '<p:a xmlns:p="urn:1" />',
    ],
    [
      "a prefix without a namespace is dropped",
      (d: XmlDocument) => d.CreateElement("p:a"),
      "<a />",
    ],
    [
      "an attribute finds another prefix of its namespace",
      (d: XmlDocument) => {
        const e = d.CreateElement("p:a", "urn:1");
        e.SetAttributeNode(d.CreateAttribute("p", "b", "urn:2"));
        return e;
      },
      '<p:a xmlns:p="urn:1" xmlns:d0p1="urn:2" d0p1:b="" />',
    ],
    [
      "CDATA is closed and opened again",
      (d: XmlDocument) => {
        const e = d.CreateElement("a");
        e.AppendChild(d.CreateCDataSection("x]]>y"));
        return e;
      },
      "<a><![CDATA[x]]]]><![CDATA[>y]]></a>",
    ],
    [
      "text is escaped",
      (d: XmlDocument) => {
        const e = d.CreateElement("a");
        e.InnerText = "</a><b/>&";
        return e;
      },
      "<a>&lt;/a&gt;&lt;b/&gt;&amp;</a>",
    ],
  ])("%s", (_, make, written) => {
    expect(make(new XmlDocument()).OuterXml).toBe(written);
  });

  test.each([
    ["a comment cannot end early", (d: XmlDocument) => d.CreateComment("--><evil/>")],
    [
      "an instruction cannot end early",
      (d: XmlDocument) => d.CreateProcessingInstruction("x", "?><evil/>"),
    ],
    ["a character that is none cannot be written", (d: XmlDocument) => d.CreateTextNode("\u0000")],
    ["a name cannot hold markup", (d: XmlDocument) => d.CreateElement("a><evil")],
    ["an attribute's name cannot hold markup", (d: XmlDocument) => d.CreateAttribute('a="" b')],
  ])("%s", (_, make) => {
    expect(() => make(new XmlDocument()).OuterXml).toThrow();
  });
});

describe("changing", () => {
  test("children move: append, prepend, before, after, replace, remove", () => {
    const element = root("<r><a/><b/><c/></r>");
    const document = element.OwnerDocument!;
    const [a, b, c] = [...element.ChildNodes] as [XmlElement, XmlElement, XmlElement];
    const d = document.CreateElement("d");

    element.AppendChild(d);
    expect(names(element)).toBe("abcd");
    element.PrependChild(c);
    expect(names(element)).toBe("cabd");
    element.InsertBefore(d, a);
    expect(names(element)).toBe("cdab");
    element.InsertAfter(c, b);
    expect(names(element)).toBe("dabc");
    element.InsertAfter(c, null);
    expect(names(element)).toBe("cdab");
    expect(element.ReplaceChild(document.CreateElement("e"), a)).toBe(a);
    expect(names(element)).toBe("cdeb");
    expect(element.RemoveChild(d)).toBe(d);
    expect([names(element), d.ParentNode]).toEqual(["ceb", null]);
    expect(element.LastChild).toBe(b);
  });

  test("a fragment gives what it holds", () => {
    const element = root("<r><z/></r>");
    const fragment = element.OwnerDocument!.CreateDocumentFragment();
    fragment.InnerXml = "<a/>text<b/>";

    element.InsertBefore(fragment, element.FirstChild);

    expect(element.InnerXml).toBe("<a />text<b /><z />");
  });

  test("InnerXml and InnerText replace the children and leave the attributes", () => {
    const element = root('<r x="1" xmlns:p="urn:p"><a/></r>');

    element.InnerXml = "<p:b/>tail";
    expect(element.OuterXml).toBe('<r xmlns:p="urn:p" x="1"><p:b />tail</r>');
    expect(() => {
      element.InnerXml = "<a>";
    }).toThrow(expect.objectContaining({ name: "XmlException" }));
    expect(element.InnerXml).toContain("tail");

    element.InnerText = "";
    expect(element.OuterXml).toBe('<r xmlns:p="urn:p" x="1"></r>');
  });

  test("attributes are set, changed and removed", () => {
    const element = root('<r a="1"/>');

    expect(element.SetAttribute("a", "2")).toBe("2");
    element.SetAttribute("b", "3");
    element.Attributes["b"].Value = "4";
    element.RemoveAttribute("a");
    element.RemoveAttribute("none");
    element.Attributes.Append(element.OwnerDocument!.CreateAttribute("c"));

    expect(element.OuterXml).toBe('<r b="4" c="" />');
    element.RemoveAllAttributes();
    expect(element.OuterXml).toBe("<r />");
  });

  test("a clone is free of its original", () => {
    const element = root('<r><a x="1"><b>t</b></a></r>');
    const deep = element.FirstChild!.CloneNode(true) as XmlElement;
    const shallow = element.FirstChild!.CloneNode(false);

    deep.SetAttribute("x", "2");
    deep.FirstChild!.InnerText = "u";

    expect(deep.OuterXml).toBe('<a x="2"><b>u</b></a>');
    expect(shallow.OuterXml).toBe('<a x="1"></a>');
    expect(element.OuterXml).toBe('<r><a x="1"><b>t</b></a></r>');
    expect(load("<a><b/></a>").CloneNode(true).OuterXml).toBe("<a><b /></a>");
  });

  test("another document's node has to be imported", () => {
    const here = load("<r/>");
    const there = load('<x xmlns="urn:x"><y/></x>');

    expect(() => here.DocumentElement!.AppendChild(there.DocumentElement!)).toThrow(/ImportNode/);
    here.DocumentElement!.AppendChild(here.ImportNode(there.DocumentElement!, true));
    expect(here.OuterXml).toBe('<r><x xmlns="urn:x"><y /></x></r>');
  });

  test.each([
    [
      "a node into itself",
      () => {
        const element = root("<a><b/></a>");
        element.FirstChild!.AppendChild(element);
      },
    ],
    [
      "a second root",
      () => {
        const document = load("<a/>");
        document.AppendChild(document.CreateElement("b"));
      },
    ],
    [
      "text at the root",
      () => {
        const document = load("<a/>");
        document.AppendChild(document.CreateTextNode("x"));
      },
    ],
    [
      "a child of a text",
      () => {
        const element = root("<a>x</a>");
        element.FirstChild!.AppendChild(element.OwnerDocument!.CreateElement("b"));
      },
    ],
    ["a child that is not there", () => root("<a><b/></a>").RemoveChild(root("<c/>"))],
    ["nothing", () => root("<a/>").AppendChild(null as never)],
    [
      "the value of an element",
      () => {
        root("<a/>").Value = "x";
      },
    ],
  ])("%s is refused", (_, change) => {
    expect(change).toThrow();
  });

  test("a tree deeper than the stack is written, copied and searched", () => {
    const document = new XmlDocument();
    let inner = document.CreateElement("a");
    document.AppendChild(inner);
    for (let i = 0; i < 20_000; i += 1) {
      const next = document.CreateElement("a");
      // Appending checks the ancestors, so the chain is hung up from below.
      inner.link(next, null);
      inner = next;
    }
    inner.InnerText = "deep";

    expect(document.OuterXml).toHaveLength(20_001 * 7 + 4);
    expect(document.InnerText).toBe("deep");
    expect(document.DocumentElement!.CloneNode(true).InnerText).toBe("deep");
    expect(document.SelectNodes("//a").Count).toBe(20_001);
  });
});

test("a namespace manager", () => {
  const manager = new XmlNamespaceManager(load("<a/>").NameTable);
  manager.AddNamespace("s", soap);

  expect([manager.LookupNamespace("s"), manager.LookupNamespace("t")]).toEqual([soap, null]);
  expect(manager.LookupPrefix(soap)).toBe("s");
  expect([manager.HasNamespace("s"), manager.DefaultNamespace]).toEqual([true, ""]);
  expect(() => manager.AddNamespace("xml", "u")).toThrow(/reserved/);
  manager.RemoveNamespace("s");
  expect(manager.HasNamespace("s")).toBe(false);
});
