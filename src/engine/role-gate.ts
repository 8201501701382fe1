/**
 * Whether a set of grants lets a caller through. No grants: everybody. A matching deny refuses; with
 * allows in the set one of them must match; a set of denies alone lets everybody else through.
 */
import type { RoleGrant } from "./definition/model.ts";
import { isJsonObject, type JsonValue } from "./exact-json.ts";
import type { Author, Instance } from "./instance.ts";

export interface RoleCaller {
  roles: readonly string[];
  author: Author;
  /** The instance in question; undefined where there is none. */
  instance: Instance | undefined;
  /** Who made the last manual transition. */
  previous?: Author | undefined;
}

export function rolesAllow(grants: readonly RoleGrant[], caller: RoleCaller): boolean {
  if (grants.length === 0) return true;
  const matches = (grant: RoleGrant) =>
    grant.match === "all"
      ? grant.roles.every((role) => isRole(role, caller))
      : grant.roles.some((role) => isRole(role, caller));
  if (grants.some((grant) => grant.grant === "deny" && matches(grant))) return false;
  const allows = grants.filter((grant) => grant.grant === "allow");
  return allows.length === 0 || allows.some(matches);
}

const dynamicRole = /^\$(user|userBehalfOf|role)\.\$\.context\.(.+)$/;

function isRole(role: string, caller: RoleCaller): boolean {
  const { author, instance, previous } = caller;
  switch (role) {
    case "$InstanceStarter":
      return isSame(author.actor, instance?.createdBy.actor);
    case "$InstanceBehalfOfStarter":
      return isSame(author.behalfOf, instance?.createdBy.behalfOf);
    case "$PreviousUser":
      return isSame(author.actor, previous?.actor);
    case "$PreviousBehalfOfUser":
      return isSame(author.behalfOf, previous?.behalfOf);
  }
  const dynamic = dynamicRole.exec(role);
  if (dynamic === null) return hasRole(caller, role);
  const named = namesAt(instance, dynamic[2]!);
  switch (dynamic[1]) {
    case "user":
      return author.actor !== undefined && named.includes(author.actor);
    case "userBehalfOf":
      return author.behalfOf !== undefined && named.includes(author.behalfOf);
    default:
      return named.some((name) => hasRole(caller, name));
  }
}

const isSame = (a: string | undefined, b: string | undefined) => a !== undefined && a === b;

const hasRole = ({ roles }: RoleCaller, role: string) =>
  roles.some((has) => has.toLowerCase() === role.toLowerCase());

/** The text, or the texts of the list, that the instance has at `Instance.Data.a.b`. */
function namesAt(instance: Instance | undefined, path: string): string[] {
  if (instance === undefined) return [];
  if (path === "Instance.CreatedBy") return textsIn(instance.createdBy.actor);
  const segments = path.split(".");
  if (segments[0] !== "Instance" || segments[1] !== "Data") return [];
  let value: JsonValue | undefined = instance.data;
  for (const segment of segments.slice(2)) {
    value = isJsonObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
  }
  return textsIn(value);
}

const textsIn = (value: JsonValue | undefined): string[] =>
  (Array.isArray(value) ? value : [value]).filter((item) => typeof item === "string");
