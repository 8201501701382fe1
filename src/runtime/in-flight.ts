/**
 * Which instances this process is working on at the moment.
 *
 * A transition that runs without outside effects is on disk only when it has ended, so between its
 * read and its write this is where others see that the instance is busy. A request that had arrived
 * while it ran, but was looked at only after it ended, was still simultaneous with it: ends are
 * remembered for a while, and turn "not available any more" into the conflict it is.
 */
export interface Flight {
  transitionKey: string;
  idempotencyKey: string | undefined;
  /** An update of the data holds nobody up: others wait for it instead of being refused. */
  blocks: boolean;
  /** Settles when the run has ended; never rejects. */
  ended: Promise<void>;
}

export interface InFlight {
  current(instanceId: string): Flight | undefined;
  /** When this process last ended a run on the instance (`performance.now`), if that is not long ago. */
  lastEnd(instanceId: string): number | undefined;
  /** Runs `work` as the only one on this instance. The caller has asked `current` before, in the same turn. */
  enter<T>(instanceId: string, flight: Omit<Flight, "ended">, work: () => Promise<T>): Promise<T>;
  readonly count: number;
}

/** Longer than a request takes from its arrival to its first look at the instance. */
const rememberedMs = 2000;
const nothing = () => {};

export function createInFlight(now = () => performance.now()): InFlight {
  const flights = new Map<string, Flight>();
  /** When runs ended, the latest last. */
  const ends = new Map<string, number>();

  const remember = (instanceId: string) => {
    const moment = now();
    ends.delete(instanceId);
    ends.set(instanceId, moment);
    for (const [id, end] of ends) {
      if (end > moment - rememberedMs) break;
      ends.delete(id);
    }
  };

  return {
    current: (instanceId) => flights.get(instanceId),
    lastEnd: (instanceId) => ends.get(instanceId),
    async enter(instanceId, flight, work) {
      const working = work();
      const ended = working.then(nothing, nothing);
      flights.set(instanceId, { ...flight, ended });
      try {
        return await working;
      } finally {
        flights.delete(instanceId);
        remember(instanceId);
      }
    },
    get count() {
      return flights.size;
    },
  };
}
