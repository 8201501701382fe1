import type { Author, Instance, InstanceState, InstanceStatus } from "../engine/instance.ts";
import type { TriggerType } from "../engine/definition/enumerations.ts";
import type { JobType } from "../engine/job-name.ts";
import type {
  ChildOutcome,
  DataChange,
  IncidentToOpen,
  TransitionRecord,
} from "../engine/transition/run.ts";

/** Where an instance is looked for: `reference` is its id or its business key. */
export interface InstanceAddress {
  domain: string;
  flow: string;
  reference: string;
}

export interface JobToAdd {
  id: string;
  type: JobType;
  instanceId: string;
  sourceState?: string | undefined;
  transitionKey?: string | undefined;
  /** JSON text: what whoever runs the job needs to know. */
  payload?: string | undefined;
  /** Claimed by this node from the start; nobody else looks at it while the node lives. */
  owner?: string | undefined;
  /** One of the two for work that is due later. A delay counts on the database's clock. */
  delayMs?: number | undefined;
  dueAt?: Date | undefined;
}

/** Everything one run wants changed. One statement, all or nothing, checked against `instance.rev`. */
export interface RunWrite {
  /** As it shall be, but with the rev it was decided on. */
  instance: Instance;
  /** Whether `data` is different from what is stored. */
  dataChanged: boolean;
  records: readonly TransitionRecord[];
  dataChanges: readonly DataChange[];
  /** States that were left: their timers go. */
  leftStates: readonly string[];
  addJobs: readonly JobToAdd[];
  /** The job this run belongs to has been done. */
  removeJob: string | undefined;
  /** The run goes on; whoever takes the job over goes on from here. */
  checkpoint: { jobId: string; payload: string } | undefined;
  incidents: readonly IncidentRow[];
  /** Those that were open before are resolved; by a retry, which they count. */
  resolvesIncidents: "handled" | "retried" | undefined;
  /** Whether `openChild` is different from what is stored. */
  childChanged: boolean;
  addCorrelations: readonly CorrelationToAdd[];
  /** The parent has taken note of its child's end. */
  endedChildren: readonly { id: string; outcome: ChildOutcome }[];
  /** This instance is a child and has ended, or a retry of it begins: its correlation says so. */
  ownOutcome: ChildOutcome | "none" | undefined;
  /** Those who wait for this instance show its effective state. */
  showsTo: readonly string[];
  /** This run takes the instance over: the jobs of other runs go, their open records are closed. */
  endsOthers: EndsOthers | undefined;
  /** The outcome a repeat with the same idempotency key is answered with. */
  outcome: { seq: number } | undefined;
}

type GivenWrite = Pick<RunWrite, "instance"> & {
  [Member in Exclude<keyof RunWrite, "instance">]?: RunWrite[Member] | undefined;
};

/** Unless given, nothing. Member by member, so that all writes have one hidden class. */
export const runWrite = (given: GivenWrite): RunWrite => ({
  instance: given.instance,
  dataChanged: given.dataChanged ?? false,
  records: given.records ?? [],
  dataChanges: given.dataChanges ?? [],
  leftStates: given.leftStates ?? [],
  addJobs: given.addJobs ?? [],
  removeJob: given.removeJob,
  checkpoint: given.checkpoint,
  incidents: given.incidents ?? [],
  resolvesIncidents: given.resolvesIncidents,
  childChanged: given.childChanged ?? false,
  addCorrelations: given.addCorrelations ?? [],
  endedChildren: given.endedChildren ?? [],
  ownOutcome: given.ownOutcome,
  showsTo: given.showsTo ?? [],
  endsOthers: given.endsOthers,
  outcome: given.outcome,
});

export type IncidentRow = Omit<IncidentToOpen, "checkpoint"> & {
  id: string;
  traceId: string | undefined;
  /** JSON text: what a retry goes on with. */
  resume: string | undefined;
};

export interface CorrelationToAdd {
  id: string;
  type: "S" | "P";
  /** The writer itself, unless it is the child that writes. */
  parentId?: string | undefined;
  parentState: string;
  childId: string;
  childDomain: string;
  childFlow: string;
  childVersion: string;
}

export interface EndsOthers {
  /** The job and the first record of the run that takes over, as far as it has them. */
  ownJob: string | undefined;
  ownSeq: number | undefined;
  /** Key of the transition whose runs go on: they only merge data, whatever the state. */
  spared: string | undefined;
}

/** A transition record as it is read back. */
export interface StoredRecord {
  seq: number;
  id: string;
  transitionKey: string;
  fromState: string;
  toState: string | undefined;
  effective: InstanceState | undefined;
  stage: string | undefined;
  trigger: TriggerType;
  startedAt: Date;
  finishedAt: Date | undefined;
  bodyText: string | undefined;
  headerText: string | undefined;
  author: Author;
}

/** One merge into an instance's data. */
/** What somebody asks for as a whole is read so many at a time: each may be as large as a request. */
export const rowsPerPage = 50;

/** Among the merges of an instance: by record, then in the order its tasks brought them. */
export interface DeltaPlace {
  seq: number;
  index: number;
}

export interface DataVersion extends DeltaPlace {
  version: string;
}

export interface StoredDelta extends DataVersion {
  entityEtag: string;
  /** JSON text. */
  delta: string;
  /** It is the whole, not a part to be merged. */
  replaces: boolean;
}

export interface RepeatOf {
  instanceId: string;
  transitionKey: string;
  idempotencyKey: string;
}

/** The outcome of the first request; without a status it is still under way. */
export interface Repeat {
  status: InstanceStatus | undefined;
  /** Sequence number of the last record of its chain. */
  lastSeq: number | undefined;
  /** It was sent on to a subflow, whose status this is. */
  isBelow: boolean;
}

/** A child of an instance, and how it is. */
export interface Correlation {
  id: string;
  type: "S" | "P";
  parentId: string;
  parentState: string;
  childId: string;
  childDomain: string;
  childFlow: string;
  childVersion: string;
  createdAt: Date;
  /** How the child has ended. */
  outcome: ChildOutcome | undefined;
  /** When the parent took note of it. */
  completedAt: Date | undefined;
  /** None until the child is there. */
  child:
    | { status: InstanceStatus; state: string; effectiveState: string; modifiedAt: Date }
    | undefined;
}

/** A child somewhere below an instance. */
export interface Descendant extends Correlation {
  childKey: string | undefined;
  childCompletedAt: Date | undefined;
}

export interface StoredTimer {
  sourceState: string;
  transitionKey: string;
  dueAt: Date;
}

export type StartResult = "started" | "keyInUse";

export interface InstanceStore {
  /** By id first, then the newest with that key. Reads that wait at the same moment travel together. */
  find(address: InstanceAddress): Promise<Instance | undefined>;

  findRepeat(of: RepeatOf): Promise<Repeat | undefined>;

  /** Whether a run other than this job's moves the instance, or waits to: updates of data do not. */
  hasMover(instanceId: string, ownJob: string | undefined): Promise<boolean>;

  /** Oldest first. */
  records(instanceId: string): Promise<StoredRecord[]>;

  /** Some of them, those that follow number `after`; fewer than a page are the last. */
  recordPage(instanceId: string, after: number): Promise<StoredRecord[]>;

  /** Who made the last manual transition; the start is one. */
  lastManualAuthor(instanceId: string): Promise<Author | undefined>;

  /** Which versions the data had, in order. */
  dataVersions(instanceId: string): Promise<DataVersion[]>;

  /**
   * Merges, in order: the data as it was at any version is their sum up to there. Some of them, those
   * that follow `after`; fewer than a page are the last.
   */
  deltaPage(instanceId: string, after: DeltaPlace): Promise<StoredDelta[]>;

  /** Oldest first. */
  correlations(parentId: string): Promise<Correlation[]>;

  /** Children, their children, and so on; parents before their children. */
  descendants(instanceId: string): Promise<Descendant[]>;

  /** Instances of a domain that wait for a person, newest first. */
  humanTasks(domain: string, most: number): Promise<Instance[]>;

  /** Scheduled transitions that wait for their time, the next one first. */
  timers(instanceId: string): Promise<StoredTimer[]>;

  /** The one that a child belongs to. */
  correlationOf(childId: string): Promise<Correlation | undefined>;

  /**
   * Stores a new instance with its first records. `keyInUse` when an instance of the flow that has
   * not completed holds the key: exactly one of two simultaneous starts gets `started`.
   */
  start(write: RunWrite): Promise<StartResult>;

  /** False when the instance was changed since it was read; nothing is written then. */
  write(write: RunWrite): Promise<boolean>;
}
