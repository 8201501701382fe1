/** A task `effect` in this process that reaches outside, and waits there until the test lets go. */
import type { TaskHost } from "../../src/tasks/task-host.ts";

export interface HeldTasks extends TaskHost {
  /** Execution keys, in the order the task was begun. */
  readonly begun: string[];
  /** The task succeeds, for everybody who waits and from now on. */
  release(): void;
}

export function holdTasks(): HeldTasks {
  const begun: string[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    begun,
    release,
    isEffectful: ({ key }) => key === "effect",
    // Deaf to the signal, as a careless task may be.
    async run({ executionKey }) {
      begun.push(executionKey);
      await released;
      return { name: "effect", response: undefined, data: { [`done-${begun.length}`]: true } };
    },
  };
}
