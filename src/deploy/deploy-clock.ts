/** Time, handed in so that tests can move it. */
export interface DeployClock {
  now(): Date;
  /** Calls `work` again and again until the returned function is called. */
  every(ms: number, work: () => void): () => void;
}

export const systemClock: DeployClock = {
  now: () => new Date(),
  every(ms, work) {
    const timer = setInterval(work, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};
