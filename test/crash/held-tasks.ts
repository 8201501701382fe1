/** A task `effect` in this process that reaches outside, and waits there until the test lets go. */
import { once } from "node:events";
import type { TaskHost } from "../../src/tasks/task-host.ts";

export interface HeldTasks extends TaskHost {
  /** Execution keys, in the order the task was begun. */
  readonly begun: string[];
  /** The task succeeds, for everybody who waits and from now on. */
  release(): void;
}

export function holdTasks(): HeldTasks {
  const begun: string[] = [];
  const release = new AbortController();
  const released = once(release.signal, "abort");
  return {
    begun,
    release: () => release.abort(),
    isEffectful: ({ key }) => key === "effect",
    // Deaf to the signal, as a careless task may be.
    async run({ executionKey }) {
      begun.push(executionKey);
      await released;
      return { name: "effect", response: undefined, data: { [`done-${begun.length}`]: true } };
    },
  };
}
