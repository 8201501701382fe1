/** Task type 14: starts a child that runs on its own; the parent goes on at once. */
import { isJsonObject } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { callFlow, textIn, withInstanceId } from "./flow-call.ts";
import { stableId } from "./stable-id.ts";
import type { MappedTaskType, TaskAnswer } from "./task-type.ts";
import { triggerOf } from "./trigger-call.ts";

const name = "SubProcess";

export const subProcessTask: MappedTaskType = {
  code: "14",
  name,
  stamp: "subprocess",
  isEffectful: () => true,
  async invoke(ports, call) {
    const { config, context, executionKey } = call;
    const parent = context.instance;
    const trigger = triggerOf(call, { name });
    const child = {
      ...trigger,
      tags: [...parentTags(parent), ...trigger.tags],
      instanceId: stableId(executionKey, "subprocess"),
      correlationId: stableId(executionKey, "correlation"),
      version: textIn(config, "version"),
      key: textIn(config, "key"),
      parent,
    };
    const answer = await callFlow(ports, call, { name }, (flow) =>
      ports.flows.startSubProcess({ ...flow, ...child }),
    );
    return withCorrelation(withInstanceId(answer), child.correlationId);
  },
};

const parentTags = (parent: Instance | undefined): string[] =>
  parent === undefined
    ? []
    : [
        ...(parent.key === undefined ? [] : [`parent.key:${parent.key}`]),
        `parent.domain:${parent.domain}`,
        `parent.flow:${parent.flow}`,
      ];

function withCorrelation(answer: TaskAnswer, correlationId: string): TaskAnswer {
  const { data, isSuccess, metadata } = answer;
  if (!isSuccess || !isJsonObject(data) || typeof data["id"] !== "string") return answer;
  const subFlowInstanceId = data["id"];
  return {
    ...answer,
    data: { ...data, subFlowInstanceId, correlationId },
    metadata: { ...metadata, SubFlowInstanceId: subFlowInstanceId, CorrelationId: correlationId },
  };
}
