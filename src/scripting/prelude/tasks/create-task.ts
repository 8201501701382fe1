import type { TaskDefinition } from "../../contract.ts";
import {
  DaprBindingTask,
  DaprConversationTask,
  DaprHttpEndpointTask,
  DaprPubSubTask,
  DaprServiceTask,
} from "./dapr-tasks.ts";
import { ExternalHttpTask, HttpTask } from "./http-task.ts";
import { GetInstanceDataTask, GetInstancesTask, GetInstanceTask } from "./instance-tasks.ts";
import { PythonTask } from "./python-task.ts";
import { FanOutTask, HumanTask, NotificationTask, ScriptTask } from "./simple-tasks.ts";
import { SoapTask } from "./soap-task.ts";
import { CacheAsideTask, StateStoreTask } from "./store-tasks.ts";
import { DirectTriggerTask, StartTask, SubProcessTask } from "./trigger-tasks.ts";
import { WorkflowTask } from "./workflow-task.ts";

const taskClasses: Readonly<Record<string, typeof WorkflowTask>> = {
  "1": DaprHttpEndpointTask,
  "2": DaprBindingTask,
  "3": DaprServiceTask,
  "4": DaprPubSubTask,
  "5": HumanTask,
  "6": HttpTask,
  "7": ScriptTask,
  "10": NotificationTask,
  "11": StartTask,
  "12": DirectTriggerTask,
  "13": GetInstanceDataTask,
  "14": SubProcessTask,
  "15": GetInstancesTask,
  "16": SoapTask,
  "17": StateStoreTask,
  "18": CacheAsideTask,
  "19": GetInstanceTask,
  "20": DaprConversationTask,
  "21": FanOutTask,
  "22": ExternalHttpTask,
  "23": PythonTask,
};

/** The task object that a handler gets; a code without a class of its own is a `WorkflowTask`. */
export function createTask(definition: TaskDefinition): WorkflowTask {
  const known = Object.hasOwn(taskClasses, definition.type)
    ? taskClasses[definition.type]
    : undefined;
  return new (known ?? WorkflowTask)(definition);
}
