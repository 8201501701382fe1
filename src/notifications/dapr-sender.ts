/** Hands the message to an output binding of the Dapr sidecar. */
import { stringifyJson } from "../engine/exact-json.ts";
import { daprPath, type DaprSidecar } from "../outgoing/dapr-sidecar.ts";
import { postJson } from "./post-json.ts";
import type { Sender } from "./sender.ts";

/** `binding` is the binding's name; by the channel unless given. */
export const createDaprSender =
  (dapr: DaprSidecar, binding: string | undefined): Sender =>
  async ({ channel, key, operation, data, metadata, trace }, bounds) => {
    const name = binding ?? `vnext-notification-${channel}`;
    await postJson(
      dapr,
      {
        url: daprPath("v1.0", "bindings", name),
        headers: { ...trace, "idempotency-key": key },
        body: stringifyJson({
          operation,
          data,
          metadata: { "Content-Type": "application/json", ...metadata },
        }),
        receiver: `The Dapr binding '${name}'`,
      },
      bounds,
    );
    return { sender: "dapr" };
  };
