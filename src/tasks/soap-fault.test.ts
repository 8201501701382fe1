import { describe, expect, test } from "vitest";
import { faultReason } from "./soap-fault.ts";

const in11 = (reason: string, before = "") =>
  `<s:Envelope xmlns:s="a">${before}<s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring xml:lang="tr">${reason}</faultstring><detail/></s:Fault></s:Body></s:Envelope>`;
const in12 = (texts: string) =>
  `<env:Envelope><env:Body><env:Fault><env:Code><env:Value>env:Sender</env:Value></env:Code><env:Reason>${texts}</env:Reason></env:Fault></env:Body></env:Envelope>`;

describe("the reason of a fault is read", () => {
  test.each([
    ["SOAP 1.1", in11("No such account"), "No such account"],
    ["SOAP 1.2", in12("<env:Text xml:lang='en'>Too late</env:Text>"), "Too late"],
    ["the first of two texts", in12("<Text>One</Text><Text>Two</Text>"), "One"],
    ["references", in11("a &lt;b&gt; &amp; &#199;&#xe7; &quot;&apos;"), "a <b> & Çç \"'"],
    ["CDATA", in11("x <![CDATA[<&amp;>]]> y"), "x <&amp;> y"],
    ["comments inside", in11("x<!-- </faultstring> -->y"), "xy"],
    ["lines and blanks", in11("\n  one\r\n\ttwo "), "one two"],
    ["> in an attribute", in11("here", "<s:Header a=\"x>y\" b='</s:Fault>'/>"), "here"],
    ["after a declaration", `<?xml version="1.0"?>\n${in11("here")}`, "here"],
    ["no control characters", in11("a&#0;&#27;b"), "a b"],
    ["no half characters", in11("a&#xD800;&#x110000;b"), "a\ufffd\ufffdb"],
    ["cut when long", in11("ü".repeat(600)), `${"ü".repeat(500)}…`],
  ])("%s", (_, xml, reason) => {
    expect(faultReason(xml)).toBe(reason);
  });
});

describe("there is none in", () => {
  test.each([
    ["an empty text", ""],
    ["JSON", '{"a":1}'],
    ["HTML that is not closed", "<html><body><p>Bad gateway"],
    ["an answer", "<s:Envelope><s:Body><faultstring>no</faultstring></s:Body></s:Envelope>"],
    ["a comment", `<!-- ${in11("x")} -->`],
    ["an empty reason", in11(" ")],
    ["a document type", `<!DOCTYPE s [<!ENTITY a "x">]>${in11("&a;")}`],
    ["what never ends", in11("x").slice(0, -60)],
    ["a tag that never ends", `<s:Envelope a="${"x".repeat(100_000)}`],
    ["what comes too late", `<a>${" ".repeat(70_000)}</a>${in11("x")}`],
    ["a hundred thousand elements", "<Fault>".repeat(100_000)],
  ])("%s", (_, xml) => {
    expect(faultReason(xml)).toBeUndefined();
  });
});

test("a text made to hurt is read in one pass", () => {
  const hurting = ["n", "a=", 'a="" ', "/", "'", "&#x", "&lt;", "]]>"];

  for (const piece of hurting.flatMap((it) => Array.from({ length: 20 }, () => it))) {
    const long = piece.repeat(64_000 / piece.length);
    expect(faultReason(`<s${long}`)).toBeUndefined();
    expect(faultReason(`<Fault><faultstring>${long}`)).toBeUndefined();
  }
});
