/**
 * Identifiers. UUIDv7 for rows (they sort by time, which keeps indexes dense), ULID for
 * `entityEtag`. Clock and randomness are handed in by whoever needs to repeat them.
 */
import { randomFillSync } from "node:crypto";

const poolBytes = 4096;

/** Random bytes in bulk: one system call serves a few hundred ids. */
function createRandom(): (count: number) => Buffer {
  let used = poolBytes;
  const bytes = Buffer.allocUnsafeSlow(poolBytes);
  return (count) => {
    if (used + count > bytes.length) {
      randomFillSync(bytes);
      used = 0;
    }
    used += count;
    return bytes.subarray(used - count, used);
  };
}

export interface Ids {
  /** A new row id, UUID version 7. */
  uuid(): string;
  /** A new ULID. */
  ulid(): string;
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

export function createIds(now: () => number = Date.now): Ids {
  const random = createRandom();
  return {
    uuid() {
      const time = now().toString(16).padStart(12, "0");
      const bytes = random(10);
      bytes[0] = (bytes[0]! & 0x0f) | 0x70;
      bytes[2] = (bytes[2]! & 0x3f) | 0x80;
      const hex = bytes.toString("hex");
      return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`;
    },
    ulid() {
      let time = now();
      let head = "";
      for (let i = 0; i < 10; i += 1) {
        head = crockford[time % 32]! + head;
        time = Math.floor(time / 32);
      }
      const bytes = random(16);
      let tail = "";
      for (const byte of bytes) tail += crockford[byte & 31]!;
      return head + tail;
    },
  };
}
