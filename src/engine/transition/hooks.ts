/** Which tasks belong to a hook of a hop, and which hooks a hop has at all. */
import type { TaskGroup } from "../definition/model.ts";
import { currentState, type Hook, type HopKind, type Run } from "./run.ts";

export function groupsOf(run: Run, hook: Hook): readonly TaskGroup[] {
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

export const leaves = (kind: HopKind) => kind !== "start" && kind !== "updateData";

const enters = (kind: HopKind) => kind !== "updateData" && kind !== "resume";
