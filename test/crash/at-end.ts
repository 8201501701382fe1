/** Registers what has to be cleaned up when a test has ended, the last first. */
export type AtEnd = (cleanUp: () => Promise<void>) => void;
