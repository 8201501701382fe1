/** Seeds for the random numbers of calls. */
import { randomFillSync } from "node:crypto";

const seedBytes = 16;

/** Asking the system for each seed would be a twentieth of a call. */
export function createSeeds(): () => string {
  const pool = Buffer.alloc(seedBytes * 256);
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      randomFillSync(pool);
      next = 0;
    }
    next += seedBytes;
    return pool.toString("hex", next - seedBytes, next);
  };
}
