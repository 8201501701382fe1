/**
 * An instance of a workflow, as the engine sees it: a value. Every change makes a new one.
 *
 * A Active     at rest, waiting for somebody or something
 * B Busy       a run owns it, a subflow is open, or it is parked in a state nobody but the system leaves
 * C Completed  reached a finish state, was cancelled, left or timed out; holds its key no longer
 * F Faulted    a run failed; an incident is open; a retry may go on
 * P Passive    taken out of service
 */
import type { StateSubType, StateType } from "./definition/enumerations.ts";
import type { JsonValue } from "./exact-json.ts";

export const InstanceStatus = {
  active: "A",
  busy: "B",
  completed: "C",
  faulted: "F",
  passive: "P",
} as const;
export type InstanceStatus = (typeof InstanceStatus)[keyof typeof InstanceStatus];

/** Takes no further requests (a retry of a faulted one is another matter). */
export const isTerminal = (status: InstanceStatus): boolean =>
  status === "C" || status === "F" || status === "P";

export interface InstanceState {
  readonly key: string;
  readonly type: StateType;
  readonly subType: StateSubType;
}

export interface Author {
  readonly actor: string | undefined;
  readonly behalfOf: string | undefined;
}

/** An instance that another one started, in a state of its own or by a task. */
export interface Origin {
  readonly correlationId: string;
  /** The parent waits for it (subflow), or went on (subprocess). */
  readonly type: "S" | "P";
  readonly parent: {
    readonly id: string;
    readonly domain: string;
    readonly flow: string;
    readonly version: string;
    readonly state: string;
  };
  /** Those who wait for it, the parent first: what it shows, they show. Empty for a subprocess. */
  readonly ancestors: readonly string[];
}

/** The subflow an instance waits for. */
export interface OpenChild {
  readonly id: string;
  readonly domain: string;
  readonly flow: string;
}

export interface Instance {
  readonly id: string;
  readonly domain: string;
  readonly flow: string;
  readonly key: string | undefined;
  readonly flowVersion: string;
  readonly status: InstanceStatus;
  /** Raised by every write; a write names the one it was decided on. */
  readonly rev: number;
  /** Sequence number of the newest transition record. */
  readonly lastSeq: number;
  readonly current: InstanceState;
  /** What the outside sees: the deepest open subflow's state, else the current one. */
  readonly effective: InstanceState;
  readonly stage: string | undefined;
  readonly tags: readonly string[];
  readonly data: JsonValue | undefined;
  readonly dataVersion: string | undefined;
  readonly entityEtag: string;
  readonly createdAt: Date;
  readonly createdBy: Author;
  readonly modifiedAt: Date | undefined;
  readonly modifiedBy: Author;
  readonly completedAt: Date | undefined;
  readonly hasActiveIncident: boolean;
  readonly incidentCount: number;
  readonly origin: Origin | undefined;
  readonly openChild: OpenChild | undefined;
}
