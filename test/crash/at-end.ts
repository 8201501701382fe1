import { afterAll } from "vitest";

/** Registers what has to be cleaned up when a test has ended, the last first. */
export type AtEnd = (cleanUp: () => Promise<void>) => void;

/** Called at the top of a file: what is registered later, also within a test, goes with the file. */
export function atEndOfFile(): AtEnd {
  const cleanUps: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  });
  return (cleanUp) => void cleanUps.push(cleanUp);
}
