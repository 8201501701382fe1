/** Task type 19: one instance as a whole. */
import { callFlow, leavesDomain, targetOf, textsIn } from "./flow-call.ts";
import type { MappedTaskType } from "./task-type.ts";

const name = "GetInstance";

export const getInstanceTask: MappedTaskType = {
  code: "19",
  name,
  stamp: "getinstance",
  isEffectful: leavesDomain,
  async invoke(ports, call) {
    const instance = targetOf(call, { name });
    const extensions = textsIn(call.config, "extensions");
    return callFlow(ports, call, { name }, (flow) =>
      ports.flows.getInstance({ ...flow, instance, extensions }),
    );
  },
};
