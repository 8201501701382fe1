/** Whether a client's poll ends in the state that is shown, and how it says that it has seen it. */
import type { LongPoll } from "../engine/definition/model.ts";
import { rolesAllow } from "../engine/role-gate.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { Asker } from "../runtime/asker.ts";
import { roleCaller, type RolePorts } from "../runtime/check-roles.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { longPollAt } from "../runtime/overrides.ts";
import { scriptOf } from "../runtime/run-read-tasks.ts";
import { instanceHref } from "./hrefs.ts";
import { deepest, type Level, type Levels } from "./levels.ts";
import { readingOf } from "./pick-entry.ts";

export async function interactionOf(
  ports: FunctionPorts,
  roles: RolePorts,
  levels: Levels,
  asker: Asker,
): Promise<{ interaction?: object }> {
  const shown = deepest(levels);
  const longPoll = longPollAt(shown.workflow, shown.overrides, shown.instance.current.key);
  if (longPoll === undefined || !(await admits(ports, roles, shown, longPoll, asker))) return {};
  const { terminate, fallbackTimeoutSeconds } = longPoll;
  return {
    interaction: {
      terminateLongPoll: terminate,
      fallbackTimeoutSeconds,
      ...(terminate ? { ack: { href: `${instanceHref(levels[0].instance)}/longpoll/ack` } } : {}),
    },
  };
}

async function admits(
  { scripts, onTrouble }: FunctionPorts,
  roles: RolePorts,
  level: Level,
  { roles: grants, rule }: LongPoll,
  asker: Asker,
): Promise<boolean> {
  if (rule === undefined) {
    return rolesAllow(grants, await roleCaller(roles, grants, level.instance, asker.viewer));
  }
  try {
    return await scripts.holds(scriptOf(readingOf(level, asker), level.workflow.helpers, rule));
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    onTrouble("LongPollRuleFailed", error);
    return false;
  }
}
