/**
 * Those who faulted because their subflow did wait for it again when it is retried. That follows from
 * the retry's write and is done after it: whoever died in between would leave them waiting for a
 * subflow that nobody goes on with. The retry's job says so too, for the one who takes it over.
 */
import type { Instance } from "../engine/instance.ts";
import { nothingElse } from "../storage/instance-store.ts";
import type { ExecutePorts } from "./execute-run.ts";

type Ports = Pick<ExecutePorts, "store" | "tools">;

export async function unfaultAncestors(ports: Ports, child: Instance): Promise<void> {
  let below = child;
  while (below.origin?.type === "S") {
    const { id: reference, domain, flow } = below.origin.parent;
    const parent = await ports.store.find({ domain, flow, reference });
    if (parent?.status !== "F" || parent.openChild?.id !== below.id) return;
    const isWritten = await ports.store.write({
      ...nothingElse,
      instance: unfaulted(parent, ports),
      resolvesIncidents: "retried",
      ownOutcome: parent.origin === undefined ? undefined : "none",
    });
    if (isWritten) below = parent;
  }
}

export const unfaulted = (instance: Instance, { tools }: Pick<Ports, "tools">): Instance => ({
  ...instance,
  status: "B",
  hasActiveIncident: false,
  modifiedAt: tools.now(),
});
