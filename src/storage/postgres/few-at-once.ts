/**
 * For statements that may take long: only so many at once, so that they never hold all connections and
 * with them everybody else's work. Whoever has waited too long is turned away.
 */
import { StorageUnavailable } from "../../engine/storage-unavailable.ts";

export interface FewAtOnce {
  <T>(work: () => Promise<T>): Promise<T>;
}

export function fewAtOnce(most: number, patienceMs: number): FewAtOnce {
  let inside = 0;
  const outside = new Set<() => void>();

  const enter = async (): Promise<void> => {
    if (inside < most) {
      inside += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const letIn = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        outside.delete(letIn);
        reject(new StorageUnavailable("Too many long statements are under way."));
      }, patienceMs);
      outside.add(letIn);
    });
  };

  const leave = (): void => {
    // Whoever leaves hands the place over, to who came first.
    for (const next of outside) {
      outside.delete(next);
      next();
      return;
    }
    inside -= 1;
  };

  return async (work) => {
    await enter();
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
