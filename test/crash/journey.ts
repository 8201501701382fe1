/**
 * The workflow of the crash tests. From `open` an instance can be moved in every way that matters to
 * durability, and comes back to `open`:
 *
 * note   nothing outside: one write            call    a task that reaches outside
 * walk   a chain of automatic transitions      visit   a chain with such a task in the middle
 * wait   a timer, whose transition has a task  amend   an update of the data, beside whatever runs
 * stop   a cancel with such a task: the end
 */
import { aComponent, aWorkflow, hook } from "../support/a-workflow.ts";
import type { Step } from "./clients.ts";

const effect = hook("effect");

export const journey = [
  aComponent("sys-tasks", "effect", { type: "7", config: {} }),
  aWorkflow("journey")
    .state("open")
    .transition("note")
    .transition("call", { onExecutionTasks: effect })
    .transition("walk", { to: "hill" })
    .transition("visit", { to: "town" })
    .transition("wait", { to: "station" })
    .state("hill")
    .transition("down", { to: "valley", rule: "true" })
    .state("valley")
    .transition("home", { to: "open", otherwise: true })
    .state("town", { onEntries: effect })
    .transition("back", { to: "open", otherwise: true })
    .state("station", { onExits: effect })
    .transition("depart", { to: "open", timer: "PT0.3S" })
    .updateData("amend")
    .cancel("stop", { to: "stopped", onExecutionTasks: effect })
    .state("stopped", { type: "finish", subType: "success" }),
];

/** How many effects outside a record of this transition stands for. */
export const effectsOf = (transitionKey: string): number =>
  ["call", "visit", "depart", "stop"].includes(transitionKey) ? 1 : 0;

/** Each way once, some with an idempotency key, the end last. */
export const everyStep: Step[] = [
  { transition: "note", sync: true },
  { transition: "call", sync: false },
  { transition: "wait", sync: true },
  { transition: "amend", sync: false, isKeyed: true },
  { transition: "visit", sync: true, isKeyed: true },
  { transition: "walk", sync: false },
  { transition: "call", sync: true },
  { transition: "wait", sync: false, isKeyed: true },
  { transition: "note", sync: false },
  { transition: "visit", sync: false },
  { transition: "amend", sync: true },
  { transition: "walk", sync: true, isKeyed: true },
  { transition: "stop", sync: false },
];
