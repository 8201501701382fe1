/** Whom a state that ends polls is for: one gate for showing it and for acknowledging it. */
import type { LongPoll, Workflow } from "../engine/definition/model.ts";
import type { Instance } from "../engine/instance.ts";
import { rolesAllow } from "../engine/role-gate.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { Asker } from "./asker.ts";
import { roleCaller, type RolePorts } from "./check-roles.ts";
import { nothingRun } from "./read-context.ts";
import { scriptOf } from "./run-read-tasks.ts";

export interface PollGatePorts extends RolePorts {
  readonly scripts: ScriptHost;
  readonly onTrouble: (event: string, error: unknown) => void;
}

/** A rule that fails lets nobody through; the run goes on by itself when the poll's time is over. */
export async function admitsPoll(
  { store, scripts, onTrouble }: PollGatePorts,
  { instance, workflow }: { readonly instance: Instance; readonly workflow: Workflow },
  { roles, rule }: LongPoll,
  asker: Asker,
): Promise<boolean> {
  if (rule === undefined) {
    return rolesAllow(roles, await roleCaller({ store }, roles, instance, asker.viewer));
  }
  const { domain, version, helpers } = workflow;
  const body = instance.data;
  const reading = { ...nothingRun, asker, domain, version, instance, workflow, body };
  try {
    return await scripts.holds(scriptOf(reading, helpers, rule));
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    onTrouble("LongPollRuleFailed", error);
    return false;
  }
}
