import { ArgumentException, ArgumentNullException } from "../errors.ts";
import { xmlNamespace, xmlnsNamespace } from "./names.ts";

/** The prefixes that an XPath expression uses. A plain object `{ soap: "http://…" }` does as well. */
export class XmlNamespaceManager {
  readonly #known = new Map<string, string>([
    ["xml", xmlNamespace],
    ["xmlns", xmlnsNamespace],
  ]);

  /** A document's `NameTable`, for those who are used to passing it. */
  readonly NameTable: unknown;

  constructor(nameTable: unknown = null) {
    this.NameTable = nameTable;
  }

  get DefaultNamespace(): string {
    return this.#known.get("") ?? "";
  }

  AddNamespace(prefix: string, uri: string): void {
    if (prefix === null || prefix === undefined) throw new ArgumentNullException("prefix");
    if (uri === null || uri === undefined) throw new ArgumentNullException("uri");
    if (prefix === "xml" || prefix === "xmlns") {
      throw new ArgumentException(`Prefix "${prefix}" is reserved for use by XML.`, "prefix");
    }
    this.#known.set(prefix, uri);
  }

  RemoveNamespace(prefix: string): void {
    this.#known.delete(prefix);
  }

  HasNamespace(prefix: string): boolean {
    return this.#known.has(prefix);
  }

  LookupNamespace(prefix: string): string | null {
    return this.#known.get(prefix) ?? null;
  }

  LookupPrefix(uri: string): string | null {
    for (const [prefix, known] of this.#known) if (known === uri) return prefix;
    return null;
  }
}

export type NamespaceMap = XmlNamespaceManager | Readonly<Record<string, string>>;

/** The namespace of a prefix; undefined when nobody has said. */
export function lookUpPrefix(namespaces: NamespaceMap | null | undefined, prefix: string) {
  if (namespaces instanceof XmlNamespaceManager) {
    return namespaces.LookupNamespace(prefix) ?? undefined;
  }
  if (namespaces && Object.hasOwn(namespaces, prefix)) return namespaces[prefix];
  return prefix === "xml" ? xmlNamespace : undefined;
}
