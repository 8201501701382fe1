/** How the subflow that an instance waits for has ended, and what it hands over. */
import type { JsonValue } from "../engine/exact-json.ts";
import { StepFailed, type TaskFailure } from "../engine/task-failure.ts";
import type { ChildEnded, Todo } from "../engine/transition/happenings.ts";
import type { ResponseValue } from "../scripting/contract.ts";
import type { ExecutePorts, Execution } from "./execution.ts";
import { scriptRequest } from "./script-request.ts";

export async function outcomeOfChild(
  ports: ExecutePorts,
  execution: Execution,
  { child, mapping }: Extract<Todo, { kind: "childOutcome" }>,
): Promise<ChildEnded> {
  const correlation = await ports.store.correlationOf(child.id);
  if (correlation === undefined) throw lostCorrelation(ports, execution, child.id);
  const kind = "childEnded";
  switch (correlation.outcome) {
    case undefined:
      return { kind, outcome: "running" };
    case "canceled":
      return { kind, outcome: "canceled" };
    case "faulted":
      return { kind, outcome: "faulted", failure: await failureOf(ports, child) };
    case "completed":
      return { kind, outcome: "completed", data: await outputOf(ports, execution, child, mapping) };
  }
}

/** Somebody deleted it: nobody can say how the child has ended, and waiting on would be for ever. */
function lostCorrelation(
  { onTrouble }: ExecutePorts,
  { run }: Execution,
  childId: string,
): StepFailed {
  const { id, current } = run.instance;
  const message = `Instance '${id}' waits in the state '${current.key}' for the subflow ${childId}, but no correlation says how that has ended.`;
  onTrouble("SubFlowCorrelationRevertTargetMissing", new Error(message));
  return new StepFailed({ code: "Instance:100012", layer: "Pipeline", message, retryable: false });
}

/** Its own word for what went wrong, so that the parent's rules can match it. */
async function failureOf(
  { incidents }: ExecutePorts,
  { id, flow }: { id: string; flow: string },
): Promise<TaskFailure> {
  const incident = await incidents.active(id);
  return {
    code: incident?.errorCode ?? `SubFlow:Faulted:${flow}`,
    layer: "Pipeline",
    message: `The subflow '${flow}' (${id}) has faulted: ${incident?.message ?? "its incidents tell why."}`,
    statusCode: incident?.statusCode,
    errorType: "SubFlow",
    retryable: false,
  };
}

async function outputOf(
  ports: ExecutePorts,
  execution: Execution,
  { domain, flow, id }: { domain: string; flow: string; id: string },
  mapping: Extract<Todo, { kind: "childOutcome" }>["mapping"],
): Promise<JsonValue | undefined> {
  if (mapping === undefined || mapping.type === "global") return undefined;
  const child = await ports.store.find({ domain, flow, reference: id });
  const run = { ...execution.run, body: child?.data };
  try {
    const answer = await ports.scripts.run(
      "subflow.output",
      scriptRequest(ports, { ...execution, run }, mapping),
    );
    const { data } = answer.value as ResponseValue;
    return data === null ? undefined : (data as JsonValue);
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    const message = `The output mapping of the subflow '${flow}' failed: ${error.failure.message}`;
    throw new StepFailed(
      { ...error.failure, code: "Instance:100030", layer: "Pipeline", message },
      { cause: error },
    );
  }
}
