/** Task type 11: starts an instance of another workflow. */
import { callFlow, textIn, withInstanceId } from "./flow-call.ts";
import { stableId } from "./stable-id.ts";
import type { MappedTaskType } from "./task-type.ts";
import { triggerOf } from "./trigger-call.ts";

const name = "StartTrigger";

export const startTask: MappedTaskType = {
  code: "11",
  name,
  stamp: "starttrigger",
  isEffectful: () => true,
  async invoke(ports, call) {
    const { config, executionKey } = call;
    const trigger = triggerOf(call, { name });
    const start = {
      ...trigger,
      instanceId: stableId(executionKey, "start"),
      version: textIn(config, "version"),
      key: textIn(config, "key"),
    };
    const answer = await callFlow(ports, call, { name }, (flow) =>
      ports.flows.start({ ...flow, ...start }),
    );
    return withInstanceId(answer);
  },
};
