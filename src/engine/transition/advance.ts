/**
 * Moves a run on until it needs something from the world, or has settled. Pure: `tools` hand in the
 * clock and the ids, everything else is data in, data out.
 */
import type { State, Transition } from "../definition/model.ts";
import type { JsonValue } from "../exact-json.ts";
import type { SchemaError } from "../json-schema.ts";
import { findUnstorable } from "../storable-json.ts";
import type { TaskFailure } from "../task-failure.ts";
import { resolveSpecial } from "./admit.ts";
import { beginHop } from "./begin-run.ts";
import { type BoundaryDecision, boundariesOf, decideBoundary } from "./boundary.ts";
import { findAnywhere } from "./checkpoint.ts";
import type { Advance, ChildEnded, Failed, Happened, Todo } from "./happenings.ts";
import { groupsOf, leaves } from "./hooks.ts";
import { merge, takeOutcomes, withChange } from "./merge-into-run.ts";
import {
  type ChildPlan,
  type Hook,
  type Phase,
  type Run,
  type Tools,
  currentState,
  isStatusNeutral,
  stateOf,
} from "./run.ts";
import {
  closeRecord,
  fault,
  finish,
  leaveChild,
  pipelineFailure,
  resolveIncidents,
  rest,
  restingStatus,
  settled,
  touched,
  withIncident,
  withoutChild,
} from "./settle-run.ts";

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
      if (happened.kind === "moving") return rest(run, [], tools, run.instance.status);
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

// --- hooks -----------------------------------------------------------------------------------

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

// --- after the hooks -------------------------------------------------------------------------

function decideNext(run: Run, tools: Tools): Advance {
  if (ends(run)) return settled(finish(run, tools));
  if (runsBesideAnother(run)) return rest(run, [], tools);
  if (run.hop.kind === "updateData") {
    // The subflow may have been opened meanwhile.
    return run.instance.openChild === undefined
      ? chooseAutomatic(run, tools)
      : rest(run, [], tools);
  }
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
  const mayBeMoving = run.hop.kind === "updateData" && run.instance.status === "B";
  // The default without a rule always holds: nobody needs to be asked.
  if (first.rule === undefined && !mayBeMoving) return follow(next, first, tools);
  return { kind: "waiting", run: next, todo: { kind: "rules", candidates, mayBeMoving } };
}

/** Cancel and exit end the instance wherever they lead; a finish state ends it however it is reached. */
const ends = ({ hop, instance }: Run) =>
  hop.kind === "cancel" || hop.kind === "exit" || instance.current.type === "finish";

/**
 * updateData beside a run that is under way: that one evaluates the rules when it gets there. Where an
 * instance rests Busy its status does not tell: then whoever performs the step looks.
 */
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
