/** The gates of transitions and reads: which grants count, and what the caller has to show for them. */
import type { RoleGrant, Transition, Workflow } from "../engine/definition/model.ts";
import type { Author, Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import {
  asksForPrevious,
  explainRoles,
  queryGrants,
  type Explanation,
  type RoleCaller,
  type RoleRequest,
} from "../engine/role-gate.ts";
import type { SentRequest } from "../engine/transition/run.ts";
import type { InstanceStore } from "../storage/instance-store.ts";

/** Somebody who asks, in the terms of grants. */
export interface Viewer {
  readonly roles: readonly string[];
  readonly author: Author;
  readonly request?: RoleRequest | undefined;
}

export type RolePorts = { readonly store: Pick<InstanceStore, "lastManualAuthor"> };

/** A request as start and transition have it. */
export interface RoleHolder {
  readonly roles: readonly string[];
  readonly author: Author;
  readonly headers?: Readonly<Record<string, string>>;
  readonly sent?: () => SentRequest;
  readonly domain?: string;
  readonly workflow?: string;
  readonly instance?: string;
}

/** Refuses a transition to callers whose roles do not allow it, at all or in the state it is sent in. */
export async function checkRoles(
  { store, enforceRoles }: RolePorts & { enforceRoles: boolean },
  transition: Transition,
  instance: Instance,
  holder: RoleHolder,
): Promise<void> {
  if (!enforceRoles || gatesOf(transition, instance).length === 0) return;
  const gates = await explainTransition(
    { store },
    transition,
    instance,
    viewerOf(holder, transition),
  );
  if (gates.every(({ allowed }) => allowed)) return;
  throw problems.roleDenied({ what: `the transition '${transition.key}'` });
}

const viewerOf = (holder: RoleHolder, { key }: Transition): Viewer => ({
  roles: holder.roles,
  author: holder.author,
  request: {
    headers: holder.headers ?? {},
    // Made when a grant looks at it: the whole request is read for it.
    get query() {
      return holder.sent?.().query ?? {};
    },
    route: {
      domain: holder.domain,
      workflow: holder.workflow,
      instance: holder.instance,
      transitionKey: key,
    },
    transitionKey: key,
  },
});

export interface Gate extends Explanation {
  readonly gate: "roles" | "availableIn" | "queryRoles";
}

/** Every gate of a transition; all of them must let through. None: it is open to everybody. */
export async function explainTransition(
  { store }: RolePorts,
  transition: Transition,
  instance: Instance,
  viewer: Viewer,
): Promise<Gate[]> {
  const gates = gatesOf(transition, instance);
  const grants = gates.flatMap((gate) => gate.grants);
  const caller = await roleCaller({ store }, grants, instance, viewer);
  return gates.map((gate) => ({ gate: gate.name, ...explainRoles(gate.grants, caller) }));
}

interface GrantSet {
  name: Gate["gate"];
  grants: readonly RoleGrant[];
}

function gatesOf({ roles, availableIn }: Transition, { current }: Instance): GrantSet[] {
  const here = availableIn === "all" ? undefined : availableIn.find((e) => e.state === current.key);
  const gates: GrantSet[] = [
    { name: "roles", grants: roles },
    { name: "availableIn", grants: here?.roles ?? [] },
  ];
  return gates.filter(({ grants }) => grants.length > 0);
}

/**
 * The gate of everything that reads an instance through its functions and incidents. A parent that
 * runs the instance as its subflow may replace the grants of its state.
 */
export async function explainQuery(
  ports: RolePorts,
  workflow: Workflow,
  instance: Instance,
  viewer: Viewer,
  override?: readonly RoleGrant[],
): Promise<Gate> {
  const grants = override ?? queryGrants(workflow, instance.current.key);
  const caller = await roleCaller(ports, grants, instance, viewer);
  return { gate: "queryRoles", ...explainRoles(grants, caller) };
}

/** The viewer before this instance. Asks the store only when a grant wants to know. */
export async function roleCaller(
  { store }: RolePorts,
  grants: readonly RoleGrant[],
  instance: Instance,
  { roles, author, request }: Viewer,
): Promise<RoleCaller> {
  const previous = asksForPrevious(grants) ? await store.lastManualAuthor(instance.id) : undefined;
  return { roles, author, request, instance, previous };
}
