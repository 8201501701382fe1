/** The children of an instance and of its open subflows, as the state function lists them. */
import type { Correlation, FunctionPorts } from "../runtime/function-ports.ts";
import { functionHref } from "./hrefs.ts";
import type { Level, Levels } from "./levels.ts";

export async function correlationsOf(
  { store }: FunctionPorts,
  levels: Levels,
): Promise<{ activeCorrelations: object[]; correlations: object[] }> {
  const found = await Promise.all(
    levels.map(({ instance, workflow }) =>
      mayHaveChildren({ instance, workflow }) ? store.correlations(instance.id) : [],
    ),
  );
  const all = found.flat();
  return {
    activeCorrelations: all.filter(({ completedAt }) => completedAt === undefined).map(link),
    correlations: all.map((correlation) => ({ ...link(correlation), ...life(correlation) })),
  };
}

/** Only states start children that are remembered. */
const mayHaveChildren = ({ instance, workflow }: Pick<Level, "instance" | "workflow">) =>
  instance.openChild !== undefined ||
  [...workflow.states.values()].some(({ subFlow }) => subFlow !== undefined);

const link = ({ childDomain, childFlow, childId, child, ...correlation }: Correlation) => ({
  correlationId: correlation.id,
  parentState: correlation.parentState,
  subFlowInstanceId: childId,
  subFlowType: correlation.type,
  subFlowDomain: childDomain,
  subFlowName: childFlow,
  subFlowVersion: correlation.childVersion,
  isCompleted: correlation.completedAt !== undefined,
  ...(child === undefined ? {} : { status: child.status, currentState: child.state }),
  href: functionHref({ domain: childDomain, flow: childFlow, id: childId }, "data"),
});

const life = ({ createdAt, completedAt, outcome, child }: Correlation) => ({
  createdAt,
  ...(child === undefined ? {} : { stateChangedAt: child.modifiedAt }),
  ...(completedAt === undefined ? {} : { completedAt }),
  ...(outcome === undefined ? {} : { terminalOutcome: outcome }),
});
