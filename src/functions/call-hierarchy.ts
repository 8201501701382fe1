/** An instance with its children, theirs, and so on. */
import type { Descendant, FunctionPorts } from "../runtime/function-ports.ts";
import { answerWith, type FunctionAnswer } from "./function-answer.ts";
import type { InstanceCall } from "./instance-call.ts";
import { loadLevels, refuseQuery } from "./levels.ts";

interface TreeNode {
  readonly id: string;
  readonly children: TreeNode[];
}

export async function callHierarchy(
  ports: FunctionPorts,
  { polled, asker }: InstanceCall,
): Promise<FunctionAnswer> {
  await refuseQuery(ports, await loadLevels(ports, polled), asker.viewer);
  const { id, key, flow, domain, flowVersion, current, status, completedAt } = polled;
  const root = {
    id,
    ...(key === undefined ? {} : { key }),
    flow,
    domain,
    flowVersion,
    currentState: current.key,
    status,
    isCompleted: completedAt !== undefined,
    ...(completedAt === undefined ? {} : { completedAt }),
    children: [],
  };
  const nodes = new Map<string, TreeNode>([[id, root]]);
  // Parents come before their children.
  for (const descendant of await ports.store.descendants(id)) {
    const node = nodeOf(descendant);
    nodes.set(node.id, node);
    nodes.get(descendant.parentId)?.children.push(node);
  }
  return answerWith({ root });
}

function nodeOf({ child, childKey, childCompletedAt, ...correlation }: Descendant): TreeNode {
  const completedAt = correlation.completedAt ?? childCompletedAt;
  return {
    id: correlation.childId,
    ...(childKey === undefined ? {} : { key: childKey }),
    flow: correlation.childFlow,
    domain: correlation.childDomain,
    flowVersion: correlation.childVersion,
    // None until it has been started.
    ...(child === undefined ? {} : { currentState: child.state, status: child.status }),
    subFlowType: correlation.type,
    isCompleted: completedAt !== undefined,
    ...(completedAt === undefined ? {} : { completedAt }),
    parentState: correlation.parentState,
    children: [],
  } as TreeNode;
}
