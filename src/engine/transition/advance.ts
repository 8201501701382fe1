/**
 * Moves a run on until it needs something from the world, or has settled. Pure: `tools` hand in the
 * clock and the ids, everything else is data in, data out.
 */
import { nextDataVersion } from "../data-version.ts";
import type {
  LongPoll,
  State,
  SubFlow,
  TaskBinding,
  TaskGroup,
  Transition,
} from "../definition/model.ts";
import type { ScriptCode } from "../definition/script-code.ts";
import type { VersionStrategy } from "../definition/enumerations.ts";
import { isJsonObject, jsonEquals, type JsonValue } from "../exact-json.ts";
import type { Instance, InstanceStatus, OpenChild } from "../instance.ts";
import type { SchemaError } from "../json-schema.ts";
import { mergeData } from "../merge-data.ts";
import { findUnstorable, type Unstorable } from "../storable-json.ts";
import type { TaskFailure } from "../task-failure.ts";
import { resolveSpecial } from "./admit.ts";
import { beginHop } from "./begin-run.ts";
import { boundariesOf, decideBoundary, type BoundaryDecision } from "./boundary.ts";
import { checkpointOf, findAnywhere } from "./checkpoint.ts";
import {
  currentState,
  isStatusNeutral,
  parks,
  stateOf,
  type ChildOutcome,
  type ChildPlan,
  type Hook,
  type HopKind,
  type IncidentToOpen,
  type Phase,
  type Program,
  type Run,
  type TimerToArm,
  type Tools,
  type TransitionRecord,
} from "./run.ts";

/** What a run waits for. */
export type Todo =
  | { kind: "map"; transition: Transition }
  | { kind: "tasks"; hook: Hook; group: number; bindings: readonly TaskBinding[] }
  /** The state opens a subflow: plan the child. */
  | { kind: "subflow"; subFlow: SubFlow }
  /** Whether the poll of this caller ends here. */
  | { kind: "longPoll"; longPoll: LongPoll }
  /** How the subflow has ended. */
  | { kind: "childOutcome"; child: OpenChild; mapping: ScriptCode | undefined }
  /** Evaluated one after the other; the first that holds wins. */
  | { kind: "rules"; candidates: readonly Transition[] }
  | { kind: "timers"; transitions: readonly Transition[] };

export interface TaskOutcome {
  /** Variable name of the task: `get-user` is `getUser`. */
  name: string;
  /** What later scripts of the hop see. */
  response: JsonValue | undefined;
  /** What the output handler wants merged into the data. */
  data: JsonValue | undefined;
  /** The stage a script set; null clears it. */
  stage?: string | null | undefined;
  metaData?: Readonly<Record<string, JsonValue>> | undefined;
  /** `Body`, when a script changed it itself. */
  body?: JsonValue | undefined;
  /** Further responses that a script filed, by name. */
  responses?: Readonly<Record<string, JsonValue>> | undefined;
  /** The task was carried out and its result is a failure; its output is merged all the same. */
  failure?: TaskFailure | undefined;
}

export type Happened =
  | { kind: "begun" }
  | { kind: "mapped"; value: JsonValue | undefined }
  | { kind: "tasksDone"; outcomes: readonly TaskOutcome[] }
  | { kind: "chosen"; transition: Transition | undefined }
  | { kind: "scheduled"; timers: readonly TimerToArm[] }
  | { kind: "childPlanned"; child: ChildPlan }
  /** `fallbackSeconds` when somebody else than the state itself says how long it waits. */
  | { kind: "pollEnds"; ends: boolean; fallbackSeconds?: number }
  | ChildEnded
  | Failed;

/** The subflow has ended; `data` is what its output mapping wants merged. */
export type ChildEnded =
  | { kind: "childEnded"; outcome: "completed"; data: JsonValue | undefined }
  | { kind: "childEnded"; outcome: "canceled" }
  | { kind: "childEnded"; outcome: "faulted"; failure: TaskFailure }
  /** Nothing has ended after all. */
  | { kind: "childEnded"; outcome: "running" };

export interface Failed {
  kind: "failed";
  failure: TaskFailure;
  /** The task that failed, whose own boundary is asked first. */
  binding?: TaskBinding | undefined;
  /** How often it was tried again before. */
  retries?: number | undefined;
  /** What the tasks of the group that ended have to say, in the order they are declared. */
  outcomes?: readonly TaskOutcome[] | undefined;
  /** Without any boundary the run goes on after the hook (`TaskExecution.UnhandledFailure`). */
  isTolerated?: boolean | undefined;
}

export type Advance = { handled?: Handled } & (
  | { kind: "waiting"; run: Run; todo: Todo }
  | { kind: "settled"; run: Run }
  /** The payload does not fit the master schema: nothing of this run may be written. */
  | { kind: "refused"; errors: readonly SchemaError[] }
);

/** A failure that changed the course of the run without ending it; for the log. */
export interface Handled {
  failure: TaskFailure;
  decision: BoundaryDecision | undefined;
}

export const longestChain = 50;

export function advance(run: Run, happened: Happened, tools: Tools): Advance {
  if (happened.kind === "failed") return afterFailure(run, happened, tools);
  switch (run.phase) {
    case "mapping":
      if (happened.kind === "begun" && run.hop.transition.mapping !== undefined) {
        return { kind: "waiting", run, todo: { kind: "map", transition: run.hop.transition } };
      }
      if (happened.kind !== "mapped") return takeBody(run, run.payload.attributes, tools);
      return takeMapped(run, happened.value, tools);
    case "onExecute":
    case "onExit":
    case "onEntry": {
      if (happened.kind !== "tasksDone") return runHook(run, tools);
      const next = takeOutcomes(run, happened.outcomes, tools);
      if (!("failure" in next)) return runHook(next, tools);
      return afterFailure(run, { kind: "failed", ...next }, tools);
    }
    case "subflow":
      return happened.kind === "childPlanned"
        ? openChild(run, happened.child, tools)
        : decideNext(run, tools);
    case "longPoll":
      if (happened.kind !== "pollEnds") return askForPoll(run, tools);
      return happened.ends
        ? pause(run, happened.fallbackSeconds, tools)
        : chooseAutomatic(run, tools);
    case "resume":
      return happened.kind === "childEnded"
        ? closeChild(run, happened, tools)
        : askForOutcome(run, tools);
    case "auto":
      return happened.kind === "chosen"
        ? follow(run, happened.transition, tools)
        : chooseAutomatic(run, tools);
    case "timers":
      return happened.kind === "scheduled"
        ? rest(run, happened.timers, tools)
        : armTimers(run, tools);
    case "settled":
      return settled(run);
  }
}

const settled = (run: Run): Advance => ({ kind: "settled", run });

// --- the payload -----------------------------------------------------------------------------

/** The request's own payload was looked at when it arrived; what a script made of it was not. */
function takeMapped(run: Run, body: JsonValue | undefined, tools: Tools): Advance {
  const found = body === undefined ? undefined : findUnstorable(body);
  if (found === undefined) return takeBody(run, body, tools);
  const place = found.path === "" ? "" : ` at '${found.path}'`;
  const message = `The mapping of the transition '${run.hop.transition.key}' yields what cannot be stored${place}: ${found.reason}`;
  return settled(fault(run, pipelineFailure("Task:400007", message), tools));
}

function takeBody(run: Run, body: JsonValue | undefined, tools: Tools): Advance {
  const { payload, instance } = run;
  const stage = isBlank(payload.stage) ? instance.stage : payload.stage;
  const tags = union(instance.tags, payload.tags);
  let next: Run = {
    ...run,
    phase: "onExecute",
    group: 0,
    body,
    instance: { ...instance, stage, tags },
    record: { ...run.record, body },
  };
  if (body !== undefined) {
    const merged = merge(next, body, run.hop.transition.versionStrategy, tools);
    if ("errors" in merged) return { kind: "refused", errors: merged.errors };
    next = merged.run;
    if (merged.changed) {
      const { dataVersion, entityEtag } = next.instance;
      next = { ...next, record: { ...next.record, dataVersion, entityEtag } };
    }
  }
  // Beside an open subflow an update of the data is just that.
  if (run.hop.kind === "updateData" && instance.openChild !== undefined)
    return rest(next, [], tools);
  return runHook(next, tools);
}

const isBlank = (text: string | undefined) => text === undefined || text.trim() === "";

function union(a: readonly string[], b: readonly string[]): readonly string[] {
  const added = b.filter((tag, i) => !a.includes(tag) && b.indexOf(tag) === i);
  return added.length === 0 ? a : [...a, ...added];
}

/** What the master schema has against a payload, known before anything runs. */
export function errorsInMerge(
  { checkData }: Program,
  { data }: Instance,
  delta: JsonValue | undefined,
): readonly SchemaError[] {
  if (checkData === undefined || delta === undefined) return [];
  const merged = data === undefined ? delta : mergeData(data, delta);
  return merged === data ? [] : checkData(merged);
}

type Merged = { run: Run; changed: boolean } | { errors: readonly SchemaError[] };

/** Identical content writes nothing: no version, no etag. */
function merge(run: Run, delta: JsonValue, strategy: VersionStrategy, tools: Tools): Merged {
  const { instance, program } = run;
  const data = instance.data === undefined ? delta : mergeData(instance.data, delta);
  if (data === instance.data) return { run, changed: false };
  const errors = program.checkData?.(data) ?? [];
  if (errors.length > 0) return { errors };
  const dataVersion = nextDataVersion(instance.dataVersion, strategy);
  const entityEtag = tools.ulid();
  return {
    run: { ...run, instance: { ...instance, data, dataVersion, entityEtag } },
    changed: true,
  };
}

// --- hooks -----------------------------------------------------------------------------------

function groupsOf(run: Run, hook: Hook): readonly TaskGroup[] {
  switch (hook) {
    case "onExecute":
      return run.hop.transition.onExecutionTasks;
    case "onExit":
      // A start has left nothing; updateData leaves and enters nothing.
      return leaves(run.hop.kind) ? currentState(run).onExits : [];
    case "onEntry":
      return enters(run.hop.kind) ? currentState(run).onEntries : [];
  }
}

const leaves = (kind: HopKind) => kind !== "start" && kind !== "updateData";
const enters = (kind: HopKind) => kind !== "updateData" && kind !== "resume";

function runHook(run: Run, tools: Tools): Advance {
  let current = run;
  for (;;) {
    const hook = current.phase as Hook;
    const bindings = groupsOf(current, hook)[current.group]?.tasks;
    if (bindings !== undefined) {
      const todo: Todo = { kind: "tasks", hook, group: current.group, bindings };
      return { kind: "waiting", run: current, todo };
    }
    if (hook === "onEntry") return decideNext(current, tools);
    if (hook === "onExecute") current = { ...leave(current), phase: "onExit", group: 0 };
    else {
      const changed = changeState(current, tools);
      if (changed.phase === "settled") return settled(changed);
      current = { ...changed, phase: "onEntry", group: 0 };
    }
  }
}

function leave(run: Run): Run {
  if (!leaves(run.hop.kind)) return run;
  const state = currentState(run);
  if (!state.transitions.some((t) => t.triggerType === "scheduled")) return run;
  const { pending } = run;
  return {
    ...run,
    pending: {
      ...pending,
      leftStates: [...pending.leftStates, state.key],
      // Armed and left within one run: nobody will ever see it.
      timers: pending.timers.filter((timer) => timer.sourceState !== state.key),
    },
  };
}

function changeState(run: Run, tools: Tools): Run {
  const { transition } = run.hop;
  const key = transition.target === "$self" ? run.instance.current.key : transition.target;
  const target = stateOf(run, key);
  if (target === undefined) {
    return fault(
      run,
      pipelineFailure(
        "Transition:100006",
        `Transition '${transition.key}' leads to the state '${key}', which the workflow does not have. Publish a corrected version.`,
      ),
      tools,
    );
  }
  const state = { key, type: target.type, subType: target.subType };
  // A subflow that stays open goes on showing its own state.
  if (run.instance.openChild !== undefined && key === run.instance.current.key) return run;
  const left = leaveChild(run);
  return { ...left, instance: { ...left.instance, current: state, effective: state } };
}

/** The subflow of a state that is left has nobody who waits for it. */
function leaveChild(run: Run): Run {
  const { instance, pending } = run;
  const { openChild: child } = instance;
  if (child === undefined) return run;
  return {
    ...run,
    instance: { ...instance, openChild: undefined, effective: instance.current },
    pending: {
      ...pending,
      endedChildren: [...pending.endedChildren, { id: child.id, outcome: "canceled" }],
      leftChildren: [...pending.leftChildren, child],
    },
  };
}

/** `binding` is the task whose output was refused; none when several contradict each other. */
type Taken = Run | { failure: TaskFailure; binding?: TaskBinding | undefined };

/** Outputs are merged in the order the tasks are declared, whichever ended first. */
function takeOutcomes(run: Run, outcomes: readonly TaskOutcome[], tools: Tools): Taken {
  const failure = conflictIn(outcomes);
  if (failure !== undefined) return { failure };
  let next: Run = { ...run, group: run.group + 1, failedAttempts: {} };
  for (const [i, outcome] of outcomes.entries()) {
    const { name, response, data, stage, metaData, body, responses } = outcome;
    if (stage !== undefined) {
      next = { ...next, instance: { ...next.instance, stage: stage ?? undefined } };
    }
    if (metaData !== undefined) next = { ...next, metaData: { ...next.metaData, ...metaData } };
    if (body !== undefined) next = { ...next, body: joinBody(next.body, body) };
    if (responses !== undefined) {
      next = { ...next, taskResponses: { ...next.taskResponses, ...responses } };
    }
    if (response !== undefined) {
      const taskResponses = { ...next.taskResponses, [name]: response };
      next = { ...next, body: joinBody(next.body, response), taskResponses };
    }
    if (data === undefined) continue;
    const found = findUnstorable(data);
    const binding = groupsOf(run, run.phase as Hook)[run.group]?.tasks[i];
    const task = binding?.task.key ?? name;
    if (found !== undefined) return { failure: outputUnstorable(task, found), binding };
    const merged = merge(next, data, "patch", tools);
    if ("errors" in merged) return { failure: outputRefused(task, merged.errors), binding };
    if (merged.changed) next = withChange(merged.run, data);
  }
  return next;
}

/** Tasks that ran side by side must not have said different things about one thing. */
export function conflictIn(outcomes: readonly TaskOutcome[]): TaskFailure | undefined {
  if (outcomes.length < 2) return undefined;
  const stages = new Set(outcomes.flatMap(({ stage }) => (stage === undefined ? [] : [stage])));
  if (stages.size > 1) {
    return conflict("Parallel tasks produced conflicting instance Stage mutations.");
  }
  const metaDataKey = conflictingKey(outcomes.map(({ metaData = {} }) => metaData));
  if (metaDataKey !== undefined) {
    return conflict(`Parallel tasks produced conflicting metadata for key '${metaDataKey}'.`);
  }
  const outputKey = conflictingKey(
    outcomes.map(({ name, response, responses }) => ({
      ...responses,
      ...(response === undefined ? {} : { [name]: response }),
    })),
  );
  return outputKey === undefined
    ? undefined
    : conflict(`Parallel tasks produced conflicting output for key '${outputKey}'.`);
}

const conflict = (message: string): TaskFailure => ({
  code: "Task:400010",
  layer: "Task",
  message,
  retryable: false,
});

function conflictingKey(written: readonly Readonly<Record<string, JsonValue>>[]) {
  const seen = new Map<string, JsonValue>();
  for (const [key, value] of written.flatMap((values) => Object.entries(values))) {
    const before = seen.get(key);
    if (before !== undefined && !jsonEquals(before, value)) return key;
    seen.set(key, value);
  }
  return undefined;
}

/** Only objects can be joined; a text or a list is found under the task's name alone. */
export function joinBody(body: JsonValue | undefined, response: JsonValue): JsonValue | undefined {
  if (!isJsonObject(response)) return body;
  return body === undefined ? response : mergeData(body, response);
}

function withChange(run: Run, delta: JsonValue): Run {
  const { instance, pending, record, changes } = run;
  const change = {
    recordSeq: record.seq,
    index: changes,
    version: instance.dataVersion!,
    entityEtag: instance.entityEtag,
    delta,
  };
  return {
    ...run,
    changes: changes + 1,
    pending: { ...pending, dataChanges: [...pending.dataChanges, change] },
  };
}

const outputUnstorable = (task: string, { path, reason }: Unstorable): TaskFailure => ({
  code: "Task:400008",
  layer: "Task",
  task,
  message: `The output of task '${task}' cannot be stored${path === "" ? "" : ` at '${path}'`}: ${reason}`,
  retryable: false,
});

const outputRefused = (task: string, errors: readonly SchemaError[]): TaskFailure => ({
  code: "App:900002",
  layer: "Task",
  task,
  message: `The output of task '${task}' does not fit the workflow's schema: ${errors.map((e) => `${e.path} ${e.message}`).join("; ")}`,
  retryable: false,
});

// --- after the hooks -------------------------------------------------------------------------

function decideNext(run: Run, tools: Tools): Advance {
  if (ends(run)) return settled(finish(run, tools));
  if (runsBesideAnother(run)) return rest(run, [], tools);
  if (run.hop.kind === "updateData") return chooseAutomatic(run, tools);
  if (run.instance.openChild !== undefined) return armTimers(run, tools);
  const { subFlow } = currentState(run);
  if (subFlow === undefined) return askForPoll(run, tools);
  return {
    kind: "waiting",
    run: { ...run, phase: "subflow" },
    todo: { kind: "subflow", subFlow },
  };
}

function askForPoll(run: Run, tools: Tools): Advance {
  const { longPoll } = currentState(run);
  if (longPoll?.terminate !== true || !isAsked(run)) return chooseAutomatic(run, tools);
  return {
    kind: "waiting",
    run: { ...run, phase: "longPoll" },
    todo: { kind: "longPoll", longPoll },
  };
}

/** Somebody asked for the transition, and may be polling for what comes of it. */
const isAsked = ({ hop }: Run) => hop.trigger !== "automatic" && !hop.viaBoundary;

function chooseAutomatic(run: Run, tools: Tools): Advance {
  const candidates = automaticOf(currentState(run));
  const next: Run = { ...run, phase: "auto" };
  const [first] = candidates;
  if (first === undefined) return follow(next, undefined, tools);
  // The default without a rule always holds: nobody needs to be asked.
  if (first.rule === undefined) return follow(next, first, tools);
  return { kind: "waiting", run: next, todo: { kind: "rules", candidates } };
}

/** Cancel and exit end the instance wherever they lead; a finish state ends it however it is reached. */
const ends = ({ hop, instance }: Run) =>
  hop.kind === "cancel" || hop.kind === "exit" || instance.current.type === "finish";

/** updateData beside a run that is under way: that one evaluates the rules when it gets there. */
const runsBesideAnother = (run: Run) =>
  isStatusNeutral(run) && run.instance.status === "B" && restingStatus(run) !== "B";

/** In declaration order, the default last. */
export function automaticOf(state: State): readonly Transition[] {
  const automatic = state.transitions.filter((t) => t.triggerType === "automatic");
  return automatic.length < 2
    ? automatic
    : [
        ...automatic.filter((t) => t.triggerKind !== "default"),
        ...automatic.filter((t) => t.triggerKind === "default"),
      ];
}

function follow(run: Run, chosen: Transition | undefined, tools: Tools): Advance {
  if (chosen === undefined) return armTimers(run, tools);
  if (run.depth >= longestChain) return settled(fault(run, chainTooLong(chosen), tools));
  const closed = closeRecord(run, tools);
  const next = beginHop(closed, { kind: "state", transition: chosen, trigger: "automatic" }, tools);
  return advance(next, { kind: "begun" }, tools);
}

const chainTooLong = ({ key }: Transition) =>
  pipelineFailure(
    "Transition:100017",
    `The chain of automatic transitions is longer than ${longestChain}; the last one chosen was '${key}'. Look for rules that hold in a circle.`,
  );

function armTimers(run: Run, tools: Tools): Advance {
  const scheduled = currentState(run).transitions.filter((t) => t.triggerType === "scheduled");
  if (scheduled.length === 0 || hasTimers(run)) return rest(run, [], tools);
  const next: Run = { ...run, phase: "timers" };
  return { kind: "waiting", run: next, todo: { kind: "timers", transitions: scheduled } };
}

/** Set when the state was entered: beside an update of the data, and after a subflow that has ended. */
const hasTimers = ({ hop, pending }: Run) =>
  hop.kind === "updateData" || (hop.kind === "resume" && pending.endedChildren.length > 0);

function rest(run: Run, timers: readonly TimerToArm[], tools: Tools): Advance {
  const closed = closeRecord(run, tools);
  const status = isStatusNeutral(run) ? run.instance.status : restingStatus(run);
  return settled({
    ...closed,
    phase: "settled",
    instance: touched({ ...closed, instance: { ...closed.instance, status } }, tools),
    pending: { ...closed.pending, timers: [...closed.pending.timers, ...timers] },
  });
}

/** Active when somebody can move it on; Busy with an open subflow, or where only rules could leave. */
const restingStatus = (run: Run): InstanceStatus =>
  run.instance.openChild !== undefined || parks(currentState(run)) ? "B" : "A";

/** What the caller of a retry sends along is merged before the failed work begins again. */
export function withRetryData(run: Run, attributes: JsonValue, tools: Tools): Run {
  if (run.phase === "mapping") {
    const before = run.payload.attributes;
    const joined = before === undefined ? attributes : mergeData(before, attributes);
    return { ...run, payload: { ...run.payload, attributes: joined } };
  }
  const merged = merge(run, attributes, run.hop.transition.versionStrategy, tools);
  // It was checked when it arrived; what has changed since then decides.
  if ("errors" in merged) return run;
  const next = merged.changed ? withChange(merged.run, attributes) : run;
  return { ...next, body: joinBody(next.body, attributes) };
}

/** Ends an instance without leaving or entering anything: what its run was meant to do is not done. */
export const endHere = (run: Run, tools: Tools): Run => finish(resolveIncidents(run), tools);

function finish(run: Run, tools: Tools): Run {
  const closed = closeRecord(leaveChild(run), tools);
  const instance = touched(closed, tools);
  return {
    ...closed,
    phase: "settled",
    instance: { ...instance, status: "C", completedAt: tools.now() },
  };
}

/** The effective state and the stage are snapshotted together with `toState`. */
function closeRecord(run: Run, tools: Tools): Run {
  if (run.hop.kind === "resume") return run;
  const { instance, record, pending } = run;
  const closed: TransitionRecord = {
    ...record,
    toState: instance.current.key,
    effective: instance.effective,
    stage: instance.stage,
    finishedAt: tools.now(),
  };
  const next = {
    ...run,
    record: closed,
    pending: { ...pending, records: [...pending.records, closed] },
  };
  return run.hop.viaBoundary ? resolveIncidents(next) : next;
}

/** All of them, those of this run included. */
function resolveIncidents(run: Run): Run {
  const { instance, pending } = run;
  if (!instance.hasActiveIncident) return run;
  return {
    ...run,
    instance: { ...instance, hasActiveIncident: false },
    pending: {
      ...pending,
      incidents: pending.incidents.map((it) => ({
        ...it,
        isResolved: true,
        checkpoint: undefined,
      })),
      resolvesIncidents: true,
    },
  };
}

// --- subflows and polls ----------------------------------------------------------------------

/** The parent waits for a subflow; beside a subprocess it goes on. */
function openChild(run: Run, child: ChildPlan, tools: Tools): Advance {
  const { instance, pending } = run;
  const next: Run = { ...run, pending: { ...pending, children: [...pending.children, child] } };
  if (child.type === "P") return askForPoll(next, tools);
  const { id, domain, flow } = child;
  return armTimers({ ...next, instance: { ...instance, openChild: { id, domain, flow } } }, tools);
}

function pause(run: Run, fallbackSeconds: number | undefined, tools: Tools): Advance {
  const pauseSeconds = fallbackSeconds ?? currentState(run).longPoll?.fallbackTimeoutSeconds;
  const closed = closeRecord(run, tools);
  return settled({
    ...closed,
    phase: "settled",
    instance: { ...touched(closed, tools), status: "B" },
    pending: { ...closed.pending, pauseSeconds },
  });
}

function askForOutcome(run: Run, tools: Tools): Advance {
  const { openChild: child } = run.instance;
  if (child === undefined) return settled({ ...run, phase: "settled" });
  const mapping = stateOf(run, run.instance.current.key)?.subFlow?.mapping;
  if (currentState(run).subFlow === undefined) {
    const message = `State '${run.instance.current.key}' waits for the subflow ${child.id}, but opens none in this version of the workflow.`;
    return settled(fault(run, pipelineFailure("Instance:100012", message), tools));
  }
  return { kind: "waiting", run, todo: { kind: "childOutcome", child, mapping } };
}

function closeChild(run: Run, ended: ChildEnded, tools: Tools): Advance {
  switch (ended.outcome) {
    case "running":
      return settled({ ...run, phase: "settled" });
    case "canceled":
      return goOn(withoutChild(run, "canceled"), tools);
    case "completed": {
      const next = withoutChild(run, "completed");
      const { data } = ended;
      if (data === undefined) return goOn(next, tools);
      const failure = unstorableOutput(data);
      if (failure !== undefined) return settled(fault(run, failure, tools));
      const merged = merge(next, data, currentState(run).versionStrategy, tools);
      if ("errors" in merged) return settled(fault(run, subflowRefused(merged.errors), tools));
      return goOn(merged.changed ? withChange(merged.run, data) : merged.run, tools);
    }
    case "faulted":
      return afterChildFault(run, ended.failure, tools);
  }
}

/** What failed here before has been dealt with: the child is through. */
function goOn(run: Run, tools: Tools): Advance {
  const next = resolveIncidents({ ...run, instance: { ...run.instance, status: "B" } });
  return chooseAutomatic(next, tools);
}

function withoutChild(run: Run, outcome: ChildOutcome): Run {
  const { instance, pending } = run;
  const { id } = instance.openChild!;
  return {
    ...run,
    instance: { ...instance, openChild: undefined, effective: instance.current },
    pending: { ...pending, endedChildren: [...pending.endedChildren, { id, outcome }] },
  };
}

/**
 * A subflow that no boundary of its own has saved is the parent's failure: the parent's state is
 * asked, then its workflow. A retry there means what an abort does. Unless a rule says otherwise the
 * parent faults too and keeps the subflow, so that a retry can reach it; its own parent is asked next.
 */
function afterChildFault(run: Run, failure: TaskFailure, tools: Tools): Advance {
  const decision = decideBoundary(boundariesOf(run, undefined), failure);
  switch (decision?.rule.action) {
    case "ignore":
    case "log": {
      const noted = withIncident(withoutChild(run, "faulted"), failure, decision, 0);
      return { ...goOn(noted, tools), handled: { failure, decision } };
    }
    case undefined:
      return settled(fault(run, failure, tools));
    default:
      return (
        takeBoundary(withoutChild(run, "faulted"), failure, decision!, 0, tools) ??
        settled(fault(run, failure, tools, decision))
      );
  }
}

function unstorableOutput(data: JsonValue): TaskFailure | undefined {
  const found = findUnstorable(data);
  if (found === undefined) return undefined;
  const place = found.path === "" ? "" : ` at '${found.path}'`;
  return pipelineFailure(
    "Instance:100030",
    `The output of the subflow cannot be stored${place}: ${found.reason}`,
  );
}

const subflowRefused = (errors: readonly SchemaError[]): TaskFailure =>
  pipelineFailure(
    "Instance:100030",
    `The output of the subflow does not fit the workflow's schema: ${errors.map((e) => `${e.path} ${e.message}`).join("; ")}`,
  );

// --- failures --------------------------------------------------------------------------------

/**
 * A task's failure is its boundaries' business; retries have been made by now. Anything else that
 * fails (a mapping, a rule, a timer) faults the instance.
 */
function afterFailure(run: Run, failed: Failed, tools: Tools): Advance {
  const { failure, binding, retries = 0, outcomes = [], isTolerated = false } = failed;
  const merged = outcomes.length === 0 ? run : takeOutcomes(run, outcomes, tools);
  // Where it stood: a retry begins with this group again, and skips what the journal has.
  const here: Run = "failure" in merged ? run : { ...merged, group: run.group };
  if (!isHook(run.phase)) return settled(fault(here, failure, tools));
  const levels = boundariesOf(run, binding);
  const decision = decideBoundary(levels, failure, (action) => action !== "retry");
  const goesOn =
    decision === undefined
      ? isTolerated && levels.every(({ boundary }) => boundary === undefined)
      : decision.rule.action === "ignore" || decision.rule.action === "log";
  if (goesOn) {
    const skipped: Run = { ...here, group: groupsOf(run, run.phase).length, failedAttempts: {} };
    return { ...runHook(skipped, tools), handled: { failure, decision } };
  }
  const taken =
    decision === undefined ? undefined : takeBoundary(here, failure, decision, retries, tools);
  return taken ?? settled(fault(here, failure, tools, decision, retries));
}

const isHook = (phase: Phase): phase is Hook =>
  phase === "onExecute" || phase === "onExit" || phase === "onEntry";

/** The transition the rule names, if it names one; the failed hop ends where it is. */
function takeBoundary(
  run: Run,
  failure: TaskFailure,
  decision: BoundaryDecision,
  retries: number,
  tools: Tools,
): Advance | undefined {
  const { transition: key } = decision.rule;
  // A boundary's own way out does not lead to another one.
  if (key === undefined || run.hop.viaBoundary || run.depth >= longestChain) return undefined;
  const { workflow } = run.program;
  const special = resolveSpecial(workflow, key);
  const transition = special?.transition ?? findAnywhere(workflow, key, run.instance.current.key);
  if (transition === undefined) return undefined;
  const noted = withIncident(run, failure, decision, retries);
  const { record, pending } = noted;
  const isOpen = record.finishedAt === undefined;
  const closed = isOpen ? [{ ...record, finishedAt: tools.now() }] : [];
  const next = beginHop(
    { ...noted, pending: { ...pending, records: [...pending.records, ...closed] } },
    {
      kind: special?.kind ?? "boundary",
      transition,
      trigger: transition.triggerType,
      viaBoundary: true,
    },
    tools,
  );
  return { ...advance(next, { kind: "begun" }, tools), handled: { failure, decision } };
}

function withIncident(
  run: Run,
  failure: TaskFailure,
  decision: BoundaryDecision | undefined,
  retryCount: number,
): Run {
  const { instance, pending } = run;
  const incident: IncidentToOpen = {
    state: instance.current.key,
    transition: run.hop.transition.key,
    failure,
    boundary:
      decision === undefined ? undefined : { action: decision.rule.action, level: decision.level },
    retryCount,
    isResolved: false,
    checkpoint: checkpointOf(run),
  };
  return {
    ...run,
    instance: {
      ...instance,
      hasActiveIncident: true,
      incidentCount: instance.incidentCount + 1,
    },
    pending: { ...pending, incidents: [...pending.incidents, incident] },
  };
}

/** The record stays open: a retry goes on with it. */
function fault(
  run: Run,
  failure: TaskFailure,
  tools: Tools,
  decision?: BoundaryDecision,
  retries = 0,
): Run {
  const noted = withIncident(unplanned(run), failure, decision, retries);
  const open = run.record.finishedAt === undefined;
  const records = open ? [...run.pending.records, run.record] : run.pending.records;
  return {
    ...noted,
    phase: "settled",
    instance: { ...touched(noted, tools), status: "F" },
    pending: { ...noted.pending, records, timers: [] },
  };
}

/** A subflow that was only planned did not happen: a retry plans it anew. */
function unplanned(run: Run): Run {
  const { instance, pending } = run;
  const children = pending.children.filter(({ id }) => id !== instance.openChild?.id);
  if (children.length === pending.children.length) return run;
  return {
    ...run,
    phase: "subflow",
    instance: { ...instance, openChild: undefined },
    pending: { ...pending, children },
  };
}

const pipelineFailure = (code: string, message: string): TaskFailure => ({
  code,
  layer: "Pipeline",
  message,
  retryable: false,
});

const touched = (run: Run, tools: Tools) => ({
  ...run.instance,
  modifiedAt: tools.now(),
  modifiedBy: run.author,
});
