/** At most so many at a time; the others wait for their turn, first come first served. */
export type Turns = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

export function createTurns(most: number): Turns {
  let running = 0;
  const waiting = new Set<() => void>();

  const turn = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        waiting.delete(begin);
        reject(signal.reason as Error);
      };
      waiting.add(begin);
      signal.addEventListener("abort", giveUp, { once: true });
    });

  return async (signal, work) => {
    signal.throwIfAborted();
    if (running >= most) await turn(signal);
    else running += 1;
    try {
      return await work();
    } finally {
      // The place goes straight to the next one: nobody who comes now can take it.
      const [next] = waiting;
      if (next === undefined) running -= 1;
      else {
        waiting.delete(next);
        next();
      }
    }
  };
}
