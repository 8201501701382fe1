import { setTimeout as sleep } from "node:timers/promises";

/**
 * Asks until `look` returns without throwing, and answers what it returned; the last failure is
 * thrown when the time is over. Put the expectation inside: `eventually(() => expect(…))`. The time is
 * a net for what never comes; a test that passes does not spend it.
 */
export async function eventually<T>(
  look: () => T | Promise<T>,
  { withinMs = 60_000 } = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(20);
    }
  }
}
