/** An id in the form of a UUID that is the same for the same text (version 8: made by a rule of our own). */
import { createHash } from "node:crypto";

export function stableId(text: string): string {
  const digest = createHash("sha256").update(text).digest();
  digest[6] = (digest[6]! & 0x0f) | 0x80;
  digest[8] = (digest[8]! & 0x3f) | 0x80;
  const hex = digest.toString("hex", 0, 16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
