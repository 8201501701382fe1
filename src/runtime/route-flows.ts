import type { FlowAnswer, FlowCall, Flows, RemoteFlows } from "../tasks/flow-port.ts";
import { UnknownDomain } from "../tasks/flow-port.ts";

/** Where each domain is: `served` is the one domain of this runtime, empty for all without an address. */
export function routeFlows({
  served,
  local,
  remote,
}: {
  served: string;
  /** Asked for when a task runs: instances run tasks, and these flows are made of instances. */
  local: () => Flows;
  remote: RemoteFlows;
}): Flows {
  const flowsOf = (domain: string): Flows => {
    if (served === domain) return local();
    const elsewhere = remote(domain);
    if (elsewhere !== undefined) return elsewhere;
    if (served === "") return local();
    throw new UnknownDomain(domain, served);
  };
  const route =
    <Call extends FlowCall>(ask: (flows: Flows, call: Call) => Promise<FlowAnswer>) =>
    async (call: Call) =>
      ask(flowsOf(call.domain), call);
  return {
    start: route((flows, call) => flows.start(call)),
    startSubProcess: route((flows, call) => flows.startSubProcess(call)),
    transition: route((flows, call) => flows.transition(call)),
    getData: route((flows, call) => flows.getData(call)),
    getInstance: route((flows, call) => flows.getInstance(call)),
    listInstances: route((flows, call) => flows.listInstances(call)),
  };
}
