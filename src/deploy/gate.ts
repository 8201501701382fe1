/** At most so many at the same time; the others wait. */
export function createGate(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let inside = 0;
  const outside: (() => void)[] = [];
  return async (work) => {
    if (inside < most) inside += 1;
    else await new Promise<void>((resolve) => outside.push(resolve));
    try {
      return await work();
    } finally {
      // Whoever leaves hands the place over.
      const next = outside.shift();
      if (next === undefined) inside -= 1;
      else next();
    }
  };
}
