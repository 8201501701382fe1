/** A list of nodes as it was when asked for; a JavaScript array with .NET's two words on top. */
export class XmlNodeList<Node> extends Array<Node> {
  // `map` and `filter` of a list give plain arrays.
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  get Count(): number {
    return this.length;
  }

  Item(index: number): Node | null {
    return this[index] ?? null;
  }
}

/** One by one: `new XmlNodeList(5)` would be five holes, and a spread overflows the stack. */
export function nodeList<Node>(nodes: Iterable<Node>): XmlNodeList<Node> {
  const list = new XmlNodeList<Node>();
  for (const node of nodes) list.push(node);
  return list;
}
