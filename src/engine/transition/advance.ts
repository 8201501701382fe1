/**
 * Moves a run on until it needs something from the world, or has settled. Pure: `tools` hand in the
 * clock and the ids, everything else is data in, data out.
 */
import { nextDataVersion } from "../data-version.ts";
import type { State, TaskBinding, TaskGroup, Transition } from "../definition/model.ts";
import type { VersionStrategy } from "../definition/enumerations.ts";
import { isJsonObject, jsonEquals, type JsonValue } from "../exact-json.ts";
import type { Instance, InstanceStatus } from "../instance.ts";
import type { SchemaError } from "../json-schema.ts";
import { mergeData } from "../merge-data.ts";
import { findUnstorable, type Unstorable } from "../storable-json.ts";
import type { TaskFailure } from "../task-failure.ts";
import { beginHop } from "./begin-run.ts";
import {
  currentState,
  parks,
  stateOf,
  type Hook,
  type HopKind,
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
}

export type Happened =
  | { kind: "begun" }
  | { kind: "mapped"; value: JsonValue | undefined }
  | { kind: "tasksDone"; outcomes: readonly TaskOutcome[] }
  | { kind: "chosen"; transition: Transition | undefined }
  | { kind: "scheduled"; timers: readonly TimerToArm[] }
  | { kind: "failed"; failure: TaskFailure };

export type Advance =
  | { kind: "waiting"; run: Run; todo: Todo }
  | { kind: "settled"; run: Run }
  /** The payload does not fit the master schema: nothing of this run may be written. */
  | { kind: "refused"; errors: readonly SchemaError[] };

export const longestChain = 50;

export function advance(run: Run, happened: Happened, tools: Tools): Advance {
  if (happened.kind === "failed") return settled(fault(run, happened.failure, tools));
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
      return "failure" in next ? settled(fault(run, next.failure, tools)) : runHook(next, tools);
    }
    case "auto":
      return follow(run, happened.kind === "chosen" ? happened.transition : undefined, tools);
    case "timers":
      return rest(run, happened.kind === "scheduled" ? happened.timers : [], tools);
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
const enters = (kind: HopKind) => kind !== "updateData";

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
  const hasTimers = state.transitions.some((t) => t.triggerType === "scheduled");
  if (!hasTimers) return run;
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
  return { ...run, instance: { ...run.instance, current: state, effective: state } };
}

type Taken = Run | { failure: TaskFailure };

/** Outputs are merged in the order the tasks are declared, whichever ended first. */
function takeOutcomes(run: Run, outcomes: readonly TaskOutcome[], tools: Tools): Taken {
  const failure = conflictIn(outcomes);
  if (failure !== undefined) return { failure };
  let next: Run = { ...run, group: run.group + 1 };
  for (const { name, response, data, stage, metaData, body, responses } of outcomes) {
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
    if (found !== undefined) return { failure: outputUnstorable(name, found) };
    const merged = merge(next, data, "patch", tools);
    if ("errors" in merged) return { failure: outputRefused(name, merged.errors) };
    if (merged.changed) next = withChange(merged.run, data);
  }
  return next;
}

/** Tasks that ran side by side must not have said different things about one thing. */
function conflictIn(outcomes: readonly TaskOutcome[]): TaskFailure | undefined {
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
function joinBody(body: JsonValue | undefined, response: JsonValue): JsonValue | undefined {
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
  const state = currentState(run);
  if (state.subFlow !== undefined) {
    return settled(
      fault(
        run,
        pipelineFailure(
          "Instance:100023",
          `State '${state.key}' opens a subflow, which this version of the service does not run.`,
        ),
        tools,
      ),
    );
  }
  const candidates = automaticOf(state);
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
  run.hop.kind === "updateData" && run.instance.status === "B" && restingStatus(run) !== "B";

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
  const closed = closeRecord(run, tools);
  if (run.depth >= longestChain) {
    return settled(
      fault(
        closed,
        pipelineFailure(
          "Transition:100017",
          `The chain of automatic transitions is longer than ${longestChain}; the last one chosen was '${chosen.key}'. Look for rules that hold in a circle.`,
        ),
        tools,
      ),
    );
  }
  const next = beginHop(closed, { kind: "state", transition: chosen, trigger: "automatic" }, tools);
  return advance(next, { kind: "begun" }, tools);
}

function armTimers(run: Run, tools: Tools): Advance {
  const scheduled = currentState(run).transitions.filter((t) => t.triggerType === "scheduled");
  if (scheduled.length === 0 || !enters(run.hop.kind)) return rest(run, [], tools);
  const next: Run = { ...run, phase: "timers" };
  return { kind: "waiting", run: next, todo: { kind: "timers", transitions: scheduled } };
}

function rest(run: Run, timers: readonly TimerToArm[], tools: Tools): Advance {
  const closed = closeRecord(run, tools);
  const status = run.hop.kind === "updateData" ? run.instance.status : restingStatus(run);
  return settled({
    ...closed,
    phase: "settled",
    instance: touched({ ...closed, instance: { ...closed.instance, status } }, tools),
    pending: { ...closed.pending, timers: [...closed.pending.timers, ...timers] },
  });
}

/** Active when somebody can move it on; parked Busy in a state only rules could leave. */
const restingStatus = (run: Run): InstanceStatus => (parks(currentState(run)) ? "B" : "A");

function finish(run: Run, tools: Tools): Run {
  const closed = closeRecord(run, tools);
  const instance = touched(closed, tools);
  return {
    ...closed,
    phase: "settled",
    instance: { ...instance, status: "C", completedAt: tools.now() },
  };
}

/** The effective state and the stage are snapshotted together with `toState`. */
function closeRecord(run: Run, tools: Tools): Run {
  const { instance, record, pending } = run;
  const closed: TransitionRecord = {
    ...record,
    toState: instance.current.key,
    effective: instance.effective,
    stage: instance.stage,
    finishedAt: tools.now(),
  };
  return { ...run, record: closed, pending: { ...pending, records: [...pending.records, closed] } };
}

/** The record stays open: a retry goes on with it. */
function fault(run: Run, failure: TaskFailure, tools: Tools): Run {
  const open = run.record.finishedAt === undefined;
  const records = open ? [...run.pending.records, run.record] : run.pending.records;
  const incident = {
    state: run.instance.current.key,
    transition: run.hop.transition.key,
    failure,
  };
  const { incidentCount } = run.instance;
  return {
    ...run,
    phase: "settled",
    instance: {
      ...touched(run, tools),
      status: "F",
      hasActiveIncident: true,
      incidentCount: incidentCount + 1,
    },
    pending: { ...run.pending, records, incident, timers: [] },
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
