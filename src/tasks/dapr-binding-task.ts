/** Task type 2: an operation of an output binding. */
import type { JsonValue } from "../engine/exact-json.ts";
import { daprPath } from "../outgoing/dapr-sidecar.ts";
import { callSidecar, daprName, metadataOf, textOf } from "./dapr-call.ts";
import type { MappedTaskType } from "./task-type.ts";

const name = "DaprBinding";

export const daprBindingTask: MappedTaskType = {
  code: "2",
  name,
  stamp: "daprbinding",
  isEffectful: () => true,
  invoke(ports, call) {
    const binding = daprName(call, name, "bindingName");
    const operation = textOf(call, name, "operation");
    const data = call.config["data"] as JsonValue | undefined;
    return callSidecar(ports, call, {
      name,
      method: "POST",
      path: daprPath("v1.0", "bindings", binding),
      body: { operation, data: data ?? null, metadata: metadataOf(call) },
      metadata: { BindingName: binding, Operation: operation },
    });
  },
};
