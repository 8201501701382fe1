/** Runs for tests of the engine: a clock that stands still, ids that count, and nothing else. */
import { normaliseWorkflow } from "../../src/engine/definition/normalise-workflow.ts";
import type { Instance } from "../../src/engine/instance.ts";
import { Problem } from "../../src/engine/problem.ts";
import { admit, type Actor } from "../../src/engine/transition/admit.ts";
import { advance } from "../../src/engine/transition/advance.ts";
import type { Advance, Happened } from "../../src/engine/transition/happenings.ts";
import { beginRun, type RunRequest } from "../../src/engine/transition/begin-run.ts";
import type { SubFlow } from "../../src/engine/definition/model.ts";
import type { ChildPlan, Program, Run, Tools } from "../../src/engine/transition/run.ts";
import type { WorkflowBuilder } from "./a-workflow.ts";

export const theMoment = new Date("2026-01-01T12:00:00.000Z");

/** `uuid-1`, `uuid-2`, …, `ulid-1`, …; it is always noon. */
export function countingTools(): Tools {
  let uuids = 0;
  let ulids = 0;
  return {
    now: () => theMoment,
    uuid: () => `uuid-${(uuids += 1)}`,
    ulid: () => `ulid-${(ulids += 1)}`,
  };
}

export const programOf = (
  workflow: WorkflowBuilder,
  checkData?: Program["checkData"],
): Program => ({ workflow: normaliseWorkflow(workflow.build()), checkData });

export function anInstance(program: Program, change: Partial<Instance> & { at?: string } = {}) {
  const { at = program.workflow.initialState, ...rest } = change;
  const { key, type, subType } = program.workflow.states.get(at)!;
  const state = { key, type, subType };
  const instance: Instance = {
    id: "instance-1",
    domain: program.workflow.domain,
    flow: program.workflow.key,
    key: undefined,
    flowVersion: program.workflow.version,
    status: "A",
    rev: 4,
    lastSeq: 3,
    current: state,
    effective: state,
    stage: undefined,
    tags: [],
    data: { amount: 10 },
    dataVersion: "1.0.0",
    entityEtag: "ulid-0",
    createdAt: new Date("2026-01-01T11:00:00.000Z"),
    createdBy: { actor: "agent7", behalfOf: "cust1" },
    modifiedAt: undefined,
    modifiedBy: { actor: undefined, behalfOf: undefined },
    completedAt: undefined,
    hasActiveIncident: false,
    incidentCount: 0,
    origin: undefined,
    openChild: undefined,
    ...rest,
  };
  return instance;
}

export interface RunOptions {
  program: Program;
  instance?: Instance;
  /** The transition, as a caller or the system names it. */
  transition: string;
  actor?: Actor;
  payload?: Partial<RunRequest["payload"]>;
  tools?: Tools;
}

/** A run of an admitted transition, before its first step. */
export function aRun(options: RunOptions): Run {
  const { program, transition: key, actor = "user", tools = countingTools() } = options;
  const instance = options.instance ?? anInstance(program);
  const admitted = admit(program.workflow, instance, key, actor);
  if (admitted instanceof Problem) throw admitted;
  const { transition } = admitted;
  return beginRun(request(options, admitted), { program, instance, transition }, tools);
}

/** The run of a start, before its first step. */
export function aStart(options: Omit<RunOptions, "transition" | "actor">): Run {
  const { program, tools = countingTools() } = options;
  const instance = anInstance(program, {
    rev: 0,
    lastSeq: 0,
    data: undefined,
    dataVersion: undefined,
  });
  const { startTransition: transition } = program.workflow;
  const started = request(options, { kind: "start", trigger: "manual" });
  return beginRun(started, { program, instance, transition }, tools);
}

const request = (
  { payload }: Pick<RunOptions, "payload">,
  { kind, trigger }: Pick<RunRequest, "kind" | "trigger">,
): RunRequest => ({
  kind,
  trigger,
  payload: { attributes: undefined, tags: [], stage: undefined, ...payload },
  author: { actor: "agent9", behalfOf: "cust1" },
  headers: { host: "localhost" },
});

/** What the world answers when a run asks; every rule fails and every timer is an hour unless told. */
export interface World {
  rules?: Record<string, boolean>;
  /** Another run moves the instance. */
  isMoving?: boolean;
  tasks?: (keys: string[]) => Happened;
  mapped?: Happened;
  child?: Happened;
  childEnd?: Happened;
  pollEnds?: boolean;
}

const aChild = ({ type, process }: SubFlow): ChildPlan => ({
  correlationId: "correlation-1",
  parentState: "sub",
  type: type === "subFlow" ? "S" : "P",
  id: "child-1",
  domain: process.domain,
  flow: process.key,
  version: "1.0.0",
  key: undefined,
  tags: [],
  attributes: undefined,
  headers: {},
});

/** Goes on to the end, noting what was asked for on the way. */
export function runToEnd(run: Run, world: World = {}, tools: Tools = countingTools()) {
  const asked: string[] = [];
  let step: Advance = advance(run, { kind: "begun" }, tools);
  while (step.kind === "waiting") {
    const { todo } = step;
    asked.push(describe(step));
    step = advance(step.run, answer(step.run, todo, world), tools);
  }
  return { step, asked };
}

type Waiting = Extract<Advance, { kind: "waiting" }>;

function describe({ run, todo }: Waiting): string {
  switch (todo.kind) {
    case "map":
      return `map ${todo.transition.key}`;
    case "tasks":
      return `${todo.hook} of ${run.hop.transition.key} in ${run.instance.current.key}: ${todo.bindings.map((b) => b.task.key).join("+")}`;
    case "rules":
      return `rules ${todo.candidates.map((t) => t.key).join(", ")}`;
    case "timers":
      return `timers ${todo.transitions.map((t) => t.key).join(", ")}`;
    case "subflow":
      return `subflow ${todo.subFlow.process.key}`;
    case "longPoll":
      return "longPoll";
    case "childOutcome":
      return `outcome of ${todo.child.id}`;
  }
}

export function answer(run: Run, todo: Waiting["todo"], world: World): Happened {
  switch (todo.kind) {
    case "map":
      return world.mapped ?? { kind: "mapped", value: run.payload.attributes };
    case "tasks": {
      const keys = todo.bindings.map((binding) => binding.task.key);
      return (
        world.tasks?.(keys) ?? {
          kind: "tasksDone",
          outcomes: keys.map((name) => ({ name, response: undefined, data: undefined })),
        }
      );
    }
    case "rules":
      if (todo.mayBeMoving && world.isMoving === true) return { kind: "moving" };
      return {
        kind: "chosen",
        transition: todo.candidates.find(
          (t) => t.rule === undefined || world.rules?.[t.key] === true,
        ),
      };
    case "timers": {
      const sourceState = run.instance.current.key;
      const timers = todo.transitions.map(({ key }) => ({
        sourceState,
        transitionKey: key,
        delayMs: 3_600_000,
      }));
      return { kind: "scheduled", timers };
    }
    case "subflow":
      return world.child ?? { kind: "childPlanned", child: aChild(todo.subFlow) };
    case "longPoll":
      return { kind: "pollEnds", ends: world.pollEnds === true };
    case "childOutcome":
      return world.childEnd ?? { kind: "childEnded", outcome: "running" };
  }
}

/** The end of a run that settled. */
export function settledRun(run: Run, world?: World): Run {
  const { step } = runToEnd(run, world);
  if (step.kind !== "settled") throw new Error(`the run is ${step.kind}`);
  return step.run;
}
