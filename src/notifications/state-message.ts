/** What the platform itself says on the `state` channel: which instance moved, not what is in it. */
import type { JsonObject } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import type { Notification } from "./sender.ts";
import { stableId } from "./stable-id.ts";

export const stateChannel = "state";

/** What a mapping's `EnrichAsync` adds. */
export interface Enrichment {
  readonly metadata: Readonly<Record<string, string>>;
  readonly operation: string;
}

export function stateMessage(
  instance: Instance,
  key: string,
  { metadata, operation }: Enrichment = { metadata: {}, operation: "create" },
): Notification {
  const { id, domain, flow, flowVersion: version, current } = instance;
  const data: JsonObject = {
    id: stableId(key),
    source: "vnext",
    type: "vnext.workflow",
    subject: subjectOf(instance),
    data: { domain, flow, id, version },
  };
  return {
    channel: stateChannel,
    key,
    operation,
    data,
    // The platform's own last: receivers route by them.
    metadata: { ...metadata, instanceId: id, state: current.key },
  };
}

/** A task in a finish state runs before the instance counts as completed, and says where it is. */
function subjectOf({ status, current }: Instance): string {
  if (status === "F") return "workflow-faulted";
  return status === "C" || current.type === "finish"
    ? "workflow-completed"
    : "workflow-state-change";
}
