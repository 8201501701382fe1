/**
 * How nodes tell each other which instances they have written, and how a node looks for itself.
 * Messages are hints: they reach whoever listens at the moment, and are lost for everybody else.
 */
export interface ChangeFeed {
  /** To every node that listens, the sender included; all of them travel in one statement. */
  say(messages: readonly string[]): Promise<void>;
  /** How the instances stand; one that is not there is left out. */
  standings(ids: readonly string[]): Promise<Standing[]>;
}

export interface Standing {
  id: string;
  rev: number;
  /**
   * Revisions of the children that still run, its own and those of the subflows it waits for: what
   * a reader sees of them changes without a write to the instance. Empty when there are none.
   */
  family: string;
}

/** Longest message the database takes. */
export const longestMessage = 7900;
