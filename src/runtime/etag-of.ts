import { hash } from "node:crypto";

/**
 * An ETag names what a caller would see; it is made from version numbers, not by hashing bodies.
 * 43 characters of base64url, quoted: the form the public system's clients know.
 */
export function etagOf(...parts: (string | number | undefined)[]): string {
  return `"${hash("sha256", parts.join("\u0000"), "base64url")}"`;
}
