/** Task type 13: the data of one instance. */
import { callFlow, leavesDomain, targetOf, textsIn } from "./flow-call.ts";
import type { MappedTaskType } from "./task-type.ts";

const name = "GetInstanceData";

export const getInstanceDataTask: MappedTaskType = {
  code: "13",
  name,
  stamp: "getinstancedata",
  isEffectful: leavesDomain,
  async invoke(ports, call) {
    const instance = targetOf(call, { name });
    const extensions = textsIn(call.config, "extensions");
    return callFlow(ports, call, { name }, (flow) =>
      ports.flows.getData({ ...flow, instance, extensions }),
    );
  },
};
