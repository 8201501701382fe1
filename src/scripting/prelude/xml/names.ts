/** XML names and the two namespaces that are always there. */
import { XmlException } from "../errors.ts";

export const xmlNamespace = "http://www.w3.org/XML/1998/namespace";
export const xmlnsNamespace = "http://www.w3.org/2000/xmlns/";

// Surrogates stand for the letters beyond the first plane; single ones are refused elsewhere.
const start =
  "A-Z_a-z\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uDFFF\\uF900-\\uFDCF\\uFDF0-\\uFFFD";
const rest = `${start}\\-.0-9\\u00B7\\u0300-\\u036F\\u203F\\u2040`;
const part = `[${start}][${rest}]*`;

/** A name with at most one colon, for use in other expressions. */
export const qualifiedNameSource = `${part}(?::${part})?`;

const qualifiedName = new RegExp(`^${qualifiedNameSource}$`);

export interface QualifiedName {
  readonly prefix: string;
  readonly local: string;
}

export function splitName(name: string): QualifiedName {
  const colon = name.indexOf(":");
  return colon === -1
    ? { prefix: "", local: name }
    : { prefix: name.slice(0, colon), local: name.slice(colon + 1) };
}

export function requireName(name: unknown): QualifiedName {
  if (typeof name !== "string" || !qualifiedName.test(name)) {
    throw new XmlException(`'${String(name)}' is not a valid XML name.`);
  }
  return splitName(name);
}

/** `xmlns` and `xmlns:p` declare; they are attributes to everybody but a namespace. */
export const isDeclaration = (prefix: string, local: string): boolean =>
  prefix === "xmlns" || (prefix === "" && local === "xmlns");
