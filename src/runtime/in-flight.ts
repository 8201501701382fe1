/**
 * Which instances this process is working on at the moment.
 *
 * A transition that runs without outside effects is on disk only when it has ended, so between its
 * read and its write this is where others see that the instance is busy. Requests that had reached
 * this process while it ran, but were read only after it ended, still count as simultaneous: the
 * note stays for a few turns of the event loop, and turns their "not available any more" into the
 * conflict it is.
 */
export interface Flight {
  transitionKey: string;
  idempotencyKey: string | undefined;
  /** Settles when the run has ended; never rejects. */
  ended: Promise<void>;
}

export interface InFlight {
  current(instanceId: string): Flight | undefined;
  /** Whether the same transition was under way when this request arrived. */
  wasJustMade(instanceId: string, transitionKey: string): boolean;
  /** Runs `work` as the only one on this instance. The caller has asked `current` before, in the same turn. */
  enter<T>(instanceId: string, flight: Omit<Flight, "ended">, work: () => Promise<T>): Promise<T>;
  readonly count: number;
}

const turnsRemembered = 4;
const nothing = () => {};

export function createInFlight(): InFlight {
  const flights = new Map<string, Flight>();
  const recent = new Map<string, string>();

  const remember = (instanceId: string, transitionKey: string) => {
    recent.set(instanceId, transitionKey);
    let turns = turnsRemembered;
    const forget = () => {
      turns -= 1;
      if (turns > 0) setImmediate(forget);
      else if (recent.get(instanceId) === transitionKey) recent.delete(instanceId);
    };
    setImmediate(forget);
  };

  return {
    current: (instanceId) => flights.get(instanceId),
    wasJustMade: (instanceId, transitionKey) => recent.get(instanceId) === transitionKey,
    async enter(instanceId, flight, work) {
      const working = work();
      const ended = working.then(nothing, nothing);
      flights.set(instanceId, { ...flight, ended });
      try {
        return await working;
      } finally {
        flights.delete(instanceId);
        remember(instanceId, flight.transitionKey);
      }
    },
    get count() {
      return flights.size;
    },
  };
}
