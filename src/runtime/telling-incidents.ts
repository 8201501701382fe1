import type { InstanceStore, RunWrite } from "../storage/instance-store.ts";

/** The store, with every instance that faults told to those who run the service. */
export const tellingIncidents = (
  store: InstanceStore,
  onEvent: (event: string, fields: Record<string, unknown>) => void,
): InstanceStore => {
  const tell = ({ instance, incidents }: RunWrite) => {
    for (const { isResolved, state, transition, traceId, failure } of incidents) {
      // One that is dealt with already was told as a failure that was handled.
      if (isResolved) continue;
      const { task, code, message: reason } = failure;
      const { id, domain, flow: workflow } = instance;
      const where = { instance: id, domain, workflow, state, transition, task };
      onEvent("IncidentOpened", { ...where, code, reason, traceId });
    }
  };
  return {
    ...store,
    async start(write) {
      const result = await store.start(write);
      if (result === "started") tell(write);
      return result;
    },
    async write(write) {
      const isWritten = await store.write(write);
      if (isWritten) tell(write);
      return isWritten;
    },
  };
};
