/** Task type 4: a message on a topic. */
import type { JsonValue } from "../engine/exact-json.ts";
import { daprPath } from "../outgoing/dapr-sidecar.ts";
import { callSidecar, daprName, metadataOf, pathBelow, textOf } from "./dapr-call.ts";
import type { TaskAnswer, TaskCall, TaskPorts, MappedTaskType } from "./task-type.ts";

const name = "DaprPubSub";

export const daprPubSubTask: MappedTaskType = {
  code: "4",
  name,
  stamp: "daprpubsub",
  isEffectful: () => true,
  invoke: publish,
};

async function publish(ports: TaskPorts, call: TaskCall): Promise<TaskAnswer> {
  const pubSub = daprName(call, name, "pubSubName");
  const topic = textOf(call, name, "topic");
  const segments = pathBelow(call, name, "topic", topic).split("/");
  const answer = await callSidecar(ports, call, {
    name,
    method: "POST",
    path: `${daprPath("v1.0", "publish", pubSub, ...segments)}${queryOf(metadataOf(call))}`,
    body: call.config["data"] as JsonValue | undefined,
    metadata: { PubSubName: pubSub, Topic: topic },
  });
  // The sidecar confirms without content.
  return answer.isSuccess
    ? { ...answer, data: { Published: true, Message: `Published on '${topic}' of '${pubSub}'.` } }
    : answer;
}

function queryOf(metadata: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(metadata).map(
    ([key, value]) => `metadata.${encodeURIComponent(key)}=${encodeURIComponent(value)}`,
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}
