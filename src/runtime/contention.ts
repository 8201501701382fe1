/**
 * Who came to the same instance for the same transition at the same moment.
 *
 * Of many callers that race for a transition one wins, often before the others have even arrived, and
 * what they ask for is not available any more. To those who raced that is a conflict; to one who
 * comes later it is a mistake of its own. Only company tells the two apart: a caller that waits for
 * its answers is alone. So whoever is refused soon after a change is kept for a moment, and somebody
 * else who comes for the same makes it a race, for both and for all that follow closely.
 */
export interface Contention {
  /** Somebody has lost a race for it just now. */
  lost(what: string): void;
  /** Whether somebody has lost a race for it a moment ago. */
  isRaced(what: string): boolean;
  /** Whether others are after the same; takes a moment unless that is known already. */
  hasCompany(what: string): Promise<boolean>;
}

export interface ContentionOptions {
  /** How long the first one waits for company. */
  holdMs?: number;
  /** How long after the last loser the race is over. */
  rememberedMs?: number;
  now?: () => number;
}

export function createContention({
  holdMs = 30,
  rememberedMs = 250,
  now = () => performance.now(),
}: ContentionOptions = {}): Contention {
  /** When somebody lost last, the latest last. */
  const races = new Map<string, number>();
  /** Those who wait for company, and what tells them. */
  const alone = new Map<string, (hasCompany: boolean) => void>();

  const lost = (what: string) => {
    const moment = now();
    races.delete(what);
    races.set(what, moment);
    for (const [other, last] of races) {
      if (last > moment - rememberedMs) break;
      races.delete(other);
    }
    alone.get(what)?.(true);
  };

  const isRaced = (what: string) => (races.get(what) ?? -Infinity) > now() - rememberedMs;

  return {
    lost,
    isRaced,
    async hasCompany(what) {
      if (!isRaced(what) && !alone.has(what)) {
        return new Promise((resolve) => {
          const tell = (hasCompany: boolean) => {
            clearTimeout(timer);
            alone.delete(what);
            resolve(hasCompany);
          };
          // On a busy machine others may have arrived meanwhile: they are heard first.
          const timer = setTimeout(
            () => setImmediate(() => alone.get(what) === tell && tell(false)),
            holdMs,
          );
          alone.set(what, tell);
        });
      }
      lost(what);
      return true;
    },
  };
}
