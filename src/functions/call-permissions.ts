/** Everything a workflow says about who may do what, as it is declared. */
import { ComponentKind } from "../engine/component-kind.ts";
import type { RoleGrant, State, Transition, Workflow } from "../engine/definition/model.ts";
import { normaliseFunction } from "../engine/definition/normalise-function.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { answerWith, type FunctionAnswer } from "./function-answer.ts";
import type { InstanceCall } from "./instance-call.ts";
import { levelOf } from "./levels.ts";

export async function callPermissions(
  ports: FunctionPorts,
  { polled }: InstanceCall,
): Promise<FunctionAnswer> {
  const { workflow } = await levelOf(ports, polled);
  const states = [...workflow.states.values()];
  return answerWith({
    workflow: workflow.key,
    queryRoles: workflow.queryRoles.map(grantJson),
    states: states.map(({ key, queryRoles }) => ({ key, queryRoles: queryRoles.map(grantJson) })),
    transitions: transitionsOf(workflow, states),
    functions: await functionsOf(ports, workflow),
  });
}

function transitionsOf(workflow: Workflow, states: readonly State[]): object[] {
  const { startTransition, sharedTransitions, cancel, updateData, exit } = workflow;
  return [
    item(startTransition),
    ...states.flatMap((state) => state.transitions.map((own) => item(ofState(own), state.key))),
    ...[...sharedTransitions, cancel, updateData, exit].flatMap((transition) =>
      transition === undefined ? [] : [item(transition)],
    ),
  ];
}

const item = ({ key, target, roles, availableIn }: Transition, from?: string) => ({
  key,
  ...(from === undefined ? {} : { from }),
  target,
  roles: roles.map(grantJson),
  ...(availableIn === "all"
    ? {}
    : {
        availableIn: availableIn.map((entry) => ({
          state: entry.state,
          roles: entry.roles.map(grantJson),
        })),
      }),
});

/** A state's own transition is available there and nowhere else. */
const ofState = (transition: Transition): Transition => ({ ...transition, availableIn: "all" });

/** What is not published has no roles yet. */
async function functionsOf({ catalogue }: FunctionPorts, { functions }: Workflow) {
  const items: object[] = [];
  for (const { domain, key, version } of functions) {
    const found = await catalogue.find({ domain, kind: ComponentKind.function, key }, version);
    if (found === undefined) continue;
    const { roles } = await catalogue.compiled(found, normaliseFunction);
    items.push({ key, roles: roles.map(grantJson) });
  }
  return items;
}

function grantJson({ grant, match, roles }: RoleGrant): object {
  const [only] = roles;
  if (roles.length === 1) return { role: only, grant };
  const members = roles.map((role) => ({ role }));
  return match === "all" ? { allOf: members, grant } : { anyOf: members, grant };
}
