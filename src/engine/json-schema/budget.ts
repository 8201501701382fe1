/**
 * What one check of a payload may take. A schema that is harmless by itself is not with a payload of a
 * million values, each of which is looked at a thousand times.
 */

/** A step takes fifty to two hundred nanoseconds: these take some seconds at the worst. */
const mostSteps = 20_000_000;

export class OverBudget extends Error {
  override readonly name = "OverBudget";
}

export interface Budget {
  /** Before each check. */
  open(): void;
  /** Throws `OverBudget` when there is not so much left. */
  spend(steps: number): void;
  /** For every value in the data. */
  spendOnValues(data: unknown, stepsPerValue: number): void;
}

export function createBudget(): Budget {
  let left = 0;
  const spend = (steps: number): void => {
    left -= steps;
    if (left < 0) throw new OverBudget();
  };
  const spendOnEach = (value: unknown, steps: number): void => {
    spend(steps);
    if (Array.isArray(value)) for (const item of value) spendOnEach(item, steps);
    else if (typeof value === "object" && value !== null) {
      for (const member of Object.values(value)) spendOnEach(member, steps);
    }
  };
  return {
    open() {
      left = mostSteps;
    },
    spend,
    spendOnValues: spendOnEach,
  };
}
