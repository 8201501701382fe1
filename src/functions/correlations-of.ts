/** The children of an instance and of its open subflows, as the state function lists them. */
import type { Correlation, FunctionPorts } from "../runtime/function-ports.ts";
import { functionHref } from "./hrefs.ts";
import type { Levels } from "./levels.ts";
import { mayHaveChildren } from "./may-have-children.ts";

export async function correlationsOf(
  ports: FunctionPorts,
  levels: Levels,
): Promise<{ activeCorrelations: object[]; correlations: object[] }> {
  const found = await Promise.all(
    levels.map(async (level) =>
      (await mayHaveChildren(ports, level)) ? ports.store.correlations(level.instance.id) : [],
    ),
  );
  const all = found.flat();
  return {
    activeCorrelations: all.filter(({ completedAt }) => completedAt === undefined).map(link),
    correlations: all.map((correlation) => ({ ...link(correlation), ...life(correlation) })),
  };
}

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
