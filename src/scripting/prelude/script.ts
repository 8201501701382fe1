/** What authors import: `import { ScriptBase, HttpTask, type ScriptContext } from "millrace/script"`. */
export type { DurationInput, DurationParts } from "./timer-schedule.ts";
export type { Dynamic } from "./dynamic.ts";
export type { HeaderMap } from "./headers.ts";
export type { HeaderValues } from "./tasks/task-with-headers.ts";
export type { InstanceMutations } from "./mutations.ts";
export type { InstanceSnapshot } from "./instance.ts";
export type { RelatedInstances, RelatedInstanceView } from "./related.ts";
export type {
  ScriptContext,
  StandardTaskResponse,
  TransitionInfo,
  WorkflowInfo,
} from "./script-context.ts";
export {
  ArgumentException,
  ArgumentNullException,
  InvalidOperationException,
  RelatedInstanceAccessException,
  XmlException,
  XPathException,
} from "./errors.ts";
export {
  EventMappingResult,
  type FanOutItem,
  type FanOutItemResult,
  type FanOutResult,
  NotificationMessage,
  ScriptResponse,
  StateNotificationMetadata,
} from "./responses.ts";
export { ScriptBase } from "./script-base.ts";
export { TimerSchedule } from "./timer-schedule.ts";

export {
  DaprBindingTask,
  DaprConversationTask,
  DaprHttpEndpointTask,
  DaprPubSubTask,
  DaprServiceTask,
} from "./tasks/dapr-tasks.ts";
export { ExternalHttpTask, HttpTask, LocalHttpTask } from "./tasks/http-task.ts";
export { FlowTask } from "./tasks/flow-task.ts";
export {
  GetInstanceDataTask,
  GetInstancesTask,
  GetInstanceTask,
  InstanceReadTask,
} from "./tasks/instance-tasks.ts";
export { PythonTask } from "./tasks/python-task.ts";
export { FanOutTask, HumanTask, NotificationTask, ScriptTask } from "./tasks/simple-tasks.ts";
export { SoapTask } from "./tasks/soap-task.ts";
export { CacheAsideTask, StateStoreTask } from "./tasks/store-tasks.ts";
export { TaskWithHeaders } from "./tasks/task-with-headers.ts";
export {
  DirectTriggerTask,
  StartTask,
  SubProcessTask,
  TriggerTask,
  TriggerTransitionTask,
} from "./tasks/trigger-tasks.ts";
export { WorkflowTask } from "./tasks/workflow-task.ts";

export { XmlDocument } from "./xml/document.ts";
export { XmlNamespaceManager } from "./xml/namespaces.ts";
export {
  XmlAttribute,
  XmlAttributeCollection,
  XmlElement,
  XmlNode,
  XmlNodeList,
} from "./xml/node.ts";
