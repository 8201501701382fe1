import { createHash } from "node:crypto";

/**
 * A UUID that is the same whenever it is made of the same key: whoever repeats a task after a crash
 * names the same instance. An execution key begins with the id of a record, which begins with a time;
 * keeping that part keeps the ids of instances in the order of their making.
 */
export function stableId(key: string, purpose: string): string {
  const hash = createHash("sha256").update(`${purpose}\u0000${key}`).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x80;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString("hex");
  const time = /^[0-9a-f]{8}-[0-9a-f]{4}(?=-7)/.exec(key)?.[0];
  return `${time ?? `${hex.slice(0, 8)}-${hex.slice(8, 12)}`}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
