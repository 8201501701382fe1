/**
 * Those who faulted because their subflow did wait for it again when it is retried. That follows from
 * the retry's write and is done after it: whoever died in between would leave them waiting for a
 * subflow that nobody goes on with. The retry's job says so too, for the one who takes it over.
 */
import type { Instance } from "../engine/instance.ts";
import { runWrite } from "../storage/instance-store.ts";
import type { ExecutePorts } from "./execution.ts";

type Ports = Pick<ExecutePorts, "store" | "tools">;

export async function unfaultAncestors(ports: Ports, child: Instance): Promise<void> {
  let below = child;
  while (below.origin?.type === "S") {
    const { id: reference, domain, flow } = below.origin.parent;
    const parent = await ports.store.find({ domain, flow, reference });
    if (parent?.openChild?.id !== below.id) return;
    // Whoever died here may have come as far as this one, and not to those above.
    const isDone = parent.status !== "F" || (await unfault(ports, parent));
    if (isDone) below = parent;
  }
}

/** False when it was changed since it was read. */
const unfault = (ports: Ports, instance: Instance): Promise<boolean> =>
  ports.store.write(
    runWrite({
      instance: unfaulted(instance, ports),
      resolvesIncidents: "retried",
      ownOutcome: instance.origin === undefined ? undefined : "none",
    }),
  );

export const unfaulted = (instance: Instance, { tools }: Pick<Ports, "tools">): Instance => ({
  ...instance,
  status: "B",
  hasActiveIncident: false,
  modifiedAt: tools.now(),
});
