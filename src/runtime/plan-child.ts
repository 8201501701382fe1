/** Decides with what a state's subflow or subprocess starts; nothing is started here. */
import { ComponentKind } from "../engine/component-kind.ts";
import type { SubFlow } from "../engine/definition/model.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { Problem } from "../engine/problem.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { ChildPlan } from "../engine/transition/run.ts";
import type { ResponseValue } from "../scripting/contract.ts";
import type { ExecutePorts, Execution } from "./execution.ts";
import { resolveReference } from "./load-program.ts";
import { scriptRequest } from "./script-request.ts";

/** Flows that open each other in a circle end here, not when the memory does. */
const deepest = 16;
/** The same for those that start subprocesses, each the next. */
const mostSubprocesses = 20;

export async function planChild(
  ports: ExecutePorts,
  execution: Execution,
  { type, process, mapping }: SubFlow,
): Promise<ChildPlan> {
  const { instance } = execution.run;
  const waits = type === "subFlow";
  const depth = instance.origin?.ancestors.length ?? 0;
  if (waits && depth >= deepest) {
    throw notStarted(
      `It would be subflow number ${depth + 1} inside another; at most ${deepest} are allowed. Look for workflows that open each other in a circle.`,
    );
  }
  if (!waits && execution.run.triggerDepth >= mostSubprocesses) {
    throw notStarted(
      `${mostSubprocesses} subprocesses and tasks that start instances led to it, each caused by the one before. Look for workflows that start each other in a circle.`,
    );
  }
  try {
    const {
      version,
      domain,
      key: flow,
    } = await resolveReference(ports.catalogue, process, ComponentKind.flow);
    const answer = await inputOf(ports, execution, { type, process, mapping });
    return {
      correlationId: ports.tools.uuid(),
      parentState: instance.current.key,
      type: waits ? "S" : "P",
      id: ports.tools.uuid(),
      domain,
      flow,
      version,
      key: answer?.key ?? (waits ? instance.key : undefined),
      tags: [...parentTags(instance), ...(answer?.tags ?? [])],
      attributes:
        answer === undefined
          ? instance.data
          : ((answer.data ?? undefined) as JsonValue | undefined),
      headers: answer?.headers ?? {},
    };
  } catch (error) {
    if (error instanceof StepFailed) throw notStarted(error.failure.message, error);
    if (error instanceof Problem) throw notStarted(error.message, error);
    throw error;
  }
}

async function inputOf(
  ports: ExecutePorts,
  execution: Execution,
  { type, mapping }: Pick<SubFlow, "type" | "mapping" | "process">,
): Promise<ResponseValue | undefined> {
  if (mapping === undefined || mapping.type === "global") return undefined;
  const kind = type === "subFlow" ? "subflow.input" : "subprocess.input";
  const { value } = await ports.scripts.run(kind, scriptRequest(ports, execution, mapping));
  return value as ResponseValue;
}

const parentTags = ({ key, domain, flow }: Instance): string[] => [
  ...(key === undefined ? [] : [`parent.key:${key}`]),
  `parent.domain:${domain}`,
  `parent.flow:${flow}`,
];

const notStarted = (message: string, cause?: unknown) =>
  new StepFailed(
    {
      code: "Instance:100023",
      layer: "Pipeline",
      message: `The subflow could not be started: ${message}`,
      retryable: false,
    },
    { cause },
  );
