/** Which task types there are: one row each. */
import { taskType } from "../engine/definition/enumerations.ts";
import { taskTypeCodes } from "../engine/enumeration-codes.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { cacheAsideTask } from "./cache-aside-task.ts";
import { daprBindingTask } from "./dapr-binding-task.ts";
import { daprConversationTask } from "./dapr-conversation-task.ts";
import { daprHttpEndpointTask, daprServiceTask } from "./dapr-invoke.ts";
import { daprPubSubTask } from "./dapr-pub-sub-task.ts";
import { directTriggerTask } from "./direct-trigger-task.ts";
import { fanOutTask } from "./fan-out-task.ts";
import { getInstanceDataTask } from "./get-instance-data-task.ts";
import { getInstanceTask } from "./get-instance-task.ts";
import { getInstancesTask } from "./get-instances-task.ts";
import { externalHttpTask, httpTask } from "./http-task.ts";
import { humanTask } from "./human-task.ts";
import { conditionTask, timerTask } from "./not-runnable-task.ts";
import { notificationTask } from "./notification-task.ts";
import { mapped } from "./run-mapped-task.ts";
import { scriptTask } from "./script-task.ts";
import { soapTask } from "./soap-task.ts";
import { startTask } from "./start-task.ts";
import { stateStoreTask } from "./state-store-task.ts";
import { subProcessTask } from "./sub-process-task.ts";
import type { TaskHost } from "./task-host.ts";
import type { TaskPorts, TaskType } from "./task-type.ts";

const types: Readonly<Record<string, TaskType>> = {
  "1": mapped(daprHttpEndpointTask),
  "2": mapped(daprBindingTask),
  "3": mapped(daprServiceTask),
  "4": mapped(daprPubSubTask),
  "5": mapped(humanTask),
  "6": mapped(httpTask),
  "7": scriptTask,
  "8": conditionTask,
  "9": timerTask,
  "10": notificationTask,
  "11": mapped(startTask),
  "12": mapped(directTriggerTask),
  "13": mapped(getInstanceDataTask),
  "14": mapped(subProcessTask),
  "15": mapped(getInstancesTask),
  "16": mapped(soapTask),
  "17": mapped(stateStoreTask),
  "18": mapped(cacheAsideTask),
  "19": mapped(getInstanceTask),
  "20": mapped(daprConversationTask),
  "21": fanOutTask,
  "22": mapped(externalHttpTask),
};

/** Definitions name a type by its code or by a word. */
function typeOf(spelling: unknown): TaskType | undefined {
  const word = taskType.read(spelling);
  return word === undefined ? undefined : types[String(taskTypeCodes.codeOf(word))];
}

export function createTasks(given: Omit<TaskPorts, "runTask" | "isEffectful">): TaskHost {
  const ports: TaskPorts = {
    ...given,
    runTask: (invocation) => host.run(invocation),
    isEffectful: (definition, mapping) => host.isEffectful(definition, mapping),
  };
  const host: TaskHost = {
    isEffectful: (definition, mapping) =>
      typeOf(definition.attributes["type"])?.isEffectful(definition, mapping) === true,
    run: async (invocation) => {
      const { key, attributes } = invocation.definition;
      const type = typeOf(attributes["type"]);
      if (type !== undefined) return type.run(ports, invocation);
      throw new StepFailed({
        code: "Task:400009",
        layer: "Task",
        task: key,
        message: `Task '${key}' has the type ${String(attributes["type"])}, which this version of the service does not run.`,
        retryable: false,
      });
    },
  };
  return host;
}
