/** Whether a client's poll ends in the state that is shown, and how it says that it has seen it. */
import type { Asker } from "../runtime/asker.ts";
import type { RolePorts } from "../runtime/check-roles.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { longPollAt } from "../runtime/overrides.ts";
import { admitsPoll } from "../runtime/poll-gate.ts";
import { instanceHref } from "./hrefs.ts";
import { deepest, type Levels } from "./levels.ts";

export async function interactionOf(
  { scripts, onTrouble }: FunctionPorts,
  { store }: RolePorts,
  levels: Levels,
  asker: Asker,
): Promise<{ interaction?: object }> {
  const shown = deepest(levels);
  const longPoll = longPollAt(shown.workflow, shown.overrides, shown.instance.current.key);
  if (longPoll === undefined) return {};
  if (!(await admitsPoll({ store, scripts, onTrouble }, shown, longPoll, asker))) return {};
  const { terminate, fallbackTimeoutSeconds } = longPoll;
  return {
    interaction: {
      terminateLongPoll: terminate,
      fallbackTimeoutSeconds,
      ...(terminate ? { ack: { href: `${instanceHref(levels[0].instance)}/longpoll/ack` } } : {}),
    },
  };
}
