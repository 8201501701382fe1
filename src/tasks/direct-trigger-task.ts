/** Task type 12: sends a transition to an instance. */
import { callFlow, required, targetOf, withInstanceId } from "./flow-call.ts";
import type { MappedTaskType } from "./task-type.ts";
import { triggerOf } from "./trigger-call.ts";

const name = "DirectTrigger";

export const directTriggerTask: MappedTaskType = {
  code: "12",
  name,
  stamp: "directtrigger",
  isEffectful: () => true,
  async invoke(ports, call) {
    const transitionKey = required(call, { name }, "transitionName");
    const task = { name, metadata: { TransitionName: transitionKey } };
    const trigger = triggerOf(call, task, true);
    const instance = targetOf(call, task);
    const answer = await callFlow(ports, call, task, (flow) =>
      ports.flows.transition({ ...flow, ...trigger, instance, transitionKey }),
    );
    return withInstanceId(answer);
  },
};
