/** The core function library, as far as it concerns documents without types. */
import { XPathException } from "../../errors.ts";
import type { XmlNode } from "../node.ts";
import { stringOfNode, toBoolean, toNumber, toText, type XPathValue } from "./values.ts";

export interface CallContext {
  readonly node: XmlNode;
  readonly position: number;
  readonly size: number;
}

interface XPathFunction {
  readonly least: number;
  readonly most: number;
  call(args: readonly XPathValue[], context: CallContext): XPathValue;
}

const define = (least: number, most: number, call: XPathFunction["call"]): XPathFunction => ({
  least,
  most,
  call,
});

const nodesOf = (value: XPathValue | undefined, name: string): XmlNode[] => {
  if (Array.isArray(value)) return value;
  throw new XPathException(`${name}() needs a node-set.`);
};

/** The first node of the argument, or the context node; undefined for an empty set. */
const target = (args: readonly XPathValue[], { node }: CallContext, name: string) =>
  args.length === 0 ? node : nodesOf(args[0], name)[0];

const textOf = (args: readonly XPathValue[], { node }: CallContext): string =>
  args[0] === undefined ? stringOfNode(node) : toText(args[0]);

const hasName = (node: XmlNode | undefined): node is XmlNode =>
  node !== undefined && ["Element", "Attribute", "ProcessingInstruction"].includes(node.NodeType);

const functions: Readonly<Record<string, XPathFunction>> = {
  last: define(0, 0, (_, { size }) => size),
  position: define(0, 0, (_, { position }) => position),
  count: define(1, 1, ([nodes]) => nodesOf(nodes, "count").length),
  "local-name": define(0, 1, (args, context) => {
    const node = target(args, context, "local-name");
    return hasName(node) ? node.LocalName : "";
  }),
  name: define(0, 1, (args, context) => {
    const node = target(args, context, "name");
    return hasName(node) ? node.Name : "";
  }),
  "namespace-uri": define(
    0,
    1,
    (args, context) => target(args, context, "namespace-uri")?.NamespaceURI ?? "",
  ),
  string: define(0, 1, textOf),
  concat: define(2, 1000, (args) => args.map(toText).join("")),
  "starts-with": define(2, 2, ([text, part]) => toText(text!).startsWith(toText(part!))),
  contains: define(2, 2, ([text, part]) => toText(text!).includes(toText(part!))),
  "substring-before": define(2, 2, ([text, part]) => {
    const whole = toText(text!);
    const at = whole.indexOf(toText(part!));
    return at === -1 ? "" : whole.slice(0, at);
  }),
  "substring-after": define(2, 2, ([text, part]) => {
    const whole = toText(text!);
    const separator = toText(part!);
    const at = whole.indexOf(separator);
    return at === -1 ? "" : whole.slice(at + separator.length);
  }),
  substring: define(2, 3, ([text, from, length]) =>
    substring(toText(text!), toNumber(from!), length === undefined ? undefined : toNumber(length)),
  ),
  "string-length": define(0, 1, (args, context) => lettersOf(textOf(args, context)).length),
  "normalize-space": define(0, 1, (args, context) =>
    textOf(args, context)
      .split(/[ \t\r\n]+/)
      .filter((word) => word !== "")
      .join(" "),
  ),
  translate: define(3, 3, ([text, from, to]) =>
    translate(toText(text!), toText(from!), toText(to!)),
  ),
  boolean: define(1, 1, ([value]) => toBoolean(value!)),
  not: define(1, 1, ([value]) => !toBoolean(value!)),
  true: define(0, 0, () => true),
  false: define(0, 0, () => false),
  number: define(0, 1, (args, context) =>
    args[0] === undefined ? toNumber(stringOfNode(context.node)) : toNumber(args[0]),
  ),
  sum: define(1, 1, ([nodes]) =>
    nodesOf(nodes, "sum").reduce((sum, node) => sum + toNumber(stringOfNode(node)), 0),
  ),
  floor: define(1, 1, ([value]) => Math.floor(toNumber(value!))),
  ceiling: define(1, 1, ([value]) => Math.ceil(toNumber(value!))),
  round: define(1, 1, ([value]) => Math.round(toNumber(value!))),
};

export function callFunction(
  name: string,
  args: readonly XPathValue[],
  context: CallContext,
): XPathValue {
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (found === undefined) throw new XPathException(`'${name}()' is an unknown XPath function.`);
  if (args.length < found.least || args.length > found.most) {
    throw new XPathException(`Function '${name}' has an invalid number of arguments.`);
  }
  return found.call(args, context);
}

/** Characters as the recommendation counts them: code points. */
const lettersOf = (text: string): string[] => Array.from(text);

/** Positions count from 1 and are rounded, as the recommendation's strange examples want. */
function substring(text: string, from: number, length: number | undefined): string {
  const letters = lettersOf(text);
  const start = Math.round(from);
  const end = length === undefined ? Number.POSITIVE_INFINITY : start + Math.round(length);
  return letters.filter((_, i) => i + 1 >= start && i + 1 < end).join("");
}

function translate(text: string, from: string, to: string): string {
  const targets = lettersOf(to);
  const map = new Map<string, string>();
  for (const [i, letter] of lettersOf(from).entries()) {
    if (!map.has(letter)) map.set(letter, targets[i] ?? "");
  }
  return lettersOf(text)
    .map((letter) => map.get(letter) ?? letter)
    .join("");
}
