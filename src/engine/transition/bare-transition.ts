import type { Transition } from "../definition/model.ts";

/** A transition that no definition declares: nothing to check, nothing to run, just where it leads. */
export const bareTransition = (
  given: Pick<Transition, "key" | "target" | "triggerType"> & Partial<Transition>,
): Transition => ({
  from: undefined,
  triggerKind: "none",
  versionStrategy: "patch",
  labels: [],
  rule: undefined,
  timer: undefined,
  schema: [],
  mapping: undefined,
  view: [],
  eventMapping: undefined,
  onExecutionTasks: [],
  roles: [],
  availableIn: "all",
  annotations: {},
  resourceLock: undefined,
  executionType: undefined,
  ...given,
});
