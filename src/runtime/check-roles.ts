import type { RoleGrant, Transition } from "../engine/definition/model.ts";
import type { Author, Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import { rolesAllow } from "../engine/role-gate.ts";
import type { InstanceStore } from "../storage/instance-store.ts";

export interface RoleHolder {
  roles: readonly string[];
  author: Author;
}

/** Refuses a transition to callers whose roles do not allow it, at all or in the state it is sent in. */
export async function checkRoles(
  { store, enforceRoles }: { store: InstanceStore; enforceRoles: boolean },
  { key, roles, availableIn }: Transition,
  instance: Instance,
  caller: RoleHolder,
): Promise<void> {
  if (!enforceRoles) return;
  const here =
    availableIn === "all" ? undefined : availableIn.find((e) => e.state === instance.current.key);
  const gates = [roles, here?.roles ?? []].filter((grants) => grants.length > 0);
  if (gates.length === 0) return;
  const previous = gates.some(asksForPrevious) ? await previousAuthor(store, instance) : undefined;
  const { roles: has, author } = caller;
  if (gates.every((grants) => rolesAllow(grants, { roles: has, author, instance, previous }))) {
    return;
  }
  throw problems.roleDenied({ what: `the transition '${key}'` });
}

const asksForPrevious = (grants: readonly RoleGrant[]) =>
  grants.some((grant) => grant.roles.some((role) => role.startsWith("$Previous")));

/** Who made the last manual transition; the start is one. */
async function previousAuthor(store: InstanceStore, { id }: Instance): Promise<Author | undefined> {
  const records = await store.records(id);
  return records.findLast((record) => record.trigger === "manual")?.author;
}
