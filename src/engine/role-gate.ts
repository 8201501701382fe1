/**
 * Whether a set of grants lets a caller through, and why. No grants: everybody. A matching deny
 * refuses, whatever else matches; with allows in the set one of them must match; a set of denies
 * alone lets everybody else through, callers without any role too.
 *
 * Every surface that lists, explains, reads or executes asks here, so that they cannot disagree.
 */
import type { RoleGrant, Workflow } from "./definition/model.ts";
import { isJsonObject, type JsonValue } from "./exact-json.ts";
import type { Author, Instance } from "./instance.ts";

export interface RoleCaller {
  readonly roles: readonly string[];
  readonly author: Author;
  /** The instance in question; undefined where there is none. */
  readonly instance: Instance | undefined;
  /** Who made the last manual transition; see `asksForPrevious`. */
  readonly previous?: Author | undefined;
  /** What roles such as `$user.$.context.Headers.x-owner` may look at. */
  readonly request?: RoleRequest | undefined;
}

export interface RoleRequest {
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly route: Readonly<Record<string, string | undefined>>;
  readonly transitionKey: string | undefined;
}

export interface Explanation {
  readonly allowed: boolean;
  readonly reason: "noGrants" | "denied" | "allowed" | "noAllowMatched" | "notDenied";
  /** In the order of the definition. */
  readonly rules: readonly ExplainedRule[];
}

export interface ExplainedRule {
  readonly grant: RoleGrant["grant"];
  readonly match: RoleGrant["match"];
  readonly roles: readonly { readonly role: string; readonly matched: boolean }[];
  readonly matched: boolean;
}

export const rolesAllow = (grants: readonly RoleGrant[], caller: RoleCaller): boolean =>
  grants.length === 0 || explainRoles(grants, caller).allowed;

export function explainRoles(grants: readonly RoleGrant[], caller: RoleCaller): Explanation {
  const rules = grants.map((grant) => explainRule(grant, caller));
  const reason = reasonOf(rules);
  const allowed = reason !== "denied" && reason !== "noAllowMatched";
  return { allowed, reason, rules };
}

function explainRule({ grant, match, roles }: RoleGrant, caller: RoleCaller): ExplainedRule {
  const each = roles.map((role) => ({ role, matched: isRole(role, caller) }));
  return { grant, match, roles: each, matched: isMatched(match, each) };
}

function isMatched(match: RoleGrant["match"], roles: ExplainedRule["roles"]): boolean {
  return match === "all"
    ? roles.every(({ matched }) => matched)
    : roles.some(({ matched }) => matched);
}

function reasonOf(rules: readonly ExplainedRule[]): Explanation["reason"] {
  if (rules.length === 0) return "noGrants";
  if (rules.some((rule) => rule.grant === "deny" && rule.matched)) return "denied";
  const allows = rules.filter((rule) => rule.grant === "allow");
  if (allows.length === 0) return "notDenied";
  return allows.some((rule) => rule.matched) ? "allowed" : "noAllowMatched";
}

/**
 * The same for questions about many instances at once (filters, groups): lets through only who would
 * be let through whichever instance it is. A deny that depends on the instance counts as matched, an
 * allow that does counts for nothing.
 */
export function rolesAllowForAny(grants: readonly RoleGrant[], caller: RoleCaller): boolean {
  const anybody: RoleCaller = { ...caller, instance: undefined, previous: undefined };
  const rules = grants.map((grant): ExplainedRule => {
    const rule = explainRule(grant, anybody);
    if (grant.grant === "allow") return rule;
    const roles = rule.roles.map(({ role, matched }) => ({
      role,
      matched: matched || dependsOnInstance(role),
    }));
    return { ...rule, roles, matched: isMatched(rule.match, roles) };
  });
  const reason = reasonOf(rules);
  return reason !== "denied" && reason !== "noAllowMatched";
}

const dependsOnInstance = (role: string): boolean =>
  predefined.has(role) || dynamicRole.exec(role)?.[2]?.startsWith("Instance.") === true;

/** Whether `previous` has to be known: finding it out costs a query. */
export const asksForPrevious = (grants: readonly RoleGrant[]): boolean =>
  grants.some((grant) => grant.roles.some((role) => role.startsWith("$Previous")));

/** What a reader of the instance has to pass: the grants of the state it is in, else the workflow's. */
export function queryGrants(workflow: Workflow, stateKey: string): readonly RoleGrant[] {
  const own = workflow.states.get(stateKey)?.queryRoles ?? [];
  return own.length > 0 ? own : workflow.queryRoles;
}

const predefined = new Set([
  "$InstanceStarter",
  "$InstanceBehalfOfStarter",
  "$PreviousUser",
  "$PreviousBehalfOfUser",
]);
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
  const named = namesAt(dynamic[2]!, caller);
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

const hasRole = ({ roles }: RoleCaller, role: string) => foldedOf(roles).has(role.toLowerCase());

/** Once per caller: a list asks about every rule of every instance, and a header has room for many. */
const folded = new WeakMap<readonly string[], ReadonlySet<string>>();

function foldedOf(roles: readonly string[]): ReadonlySet<string> {
  let known = folded.get(roles);
  if (known === undefined) {
    folded.set(roles, (known = new Set(roles.map((role) => role.toLowerCase()))));
  }
  return known;
}

/** The text, or the texts of the list, that stand at a path of the context. */
function namesAt(path: string, { instance, request }: RoleCaller): readonly string[] {
  switch (path) {
    case "Instance.CreatedBy":
      return textsIn(instance?.createdBy.actor);
    case "Instance.CreatedByBehalfOf":
      return textsIn(instance?.createdBy.behalfOf);
    case "Transition.Key":
      return textsIn(request?.transitionKey);
  }
  const [space, name] = splitAtDot(path);
  switch (space) {
    case "Instance":
      return textsIn(memberAt(instance?.data, name));
    case "Headers":
      return textsIn(namedIn(request?.headers, name));
    case "QueryParameters":
      return textsIn(namedIn(request?.query, name));
    case "RouteValues":
      return textsIn(namedIn(request?.route, name));
    default:
      return [];
  }
}

/** Only the first: a header's name may have dots of its own. */
function splitAtDot(path: string): readonly [string, string] {
  const dot = path.indexOf(".");
  return dot === -1 ? [path, ""] : [path.slice(0, dot), path.slice(dot + 1)];
}

/** `Data.a.b` of the instance. */
function memberAt(data: JsonValue | undefined, path: string): JsonValue | undefined {
  const [first, ...segments] = path.split(".");
  if (first !== "Data" || segments.length === 0) return undefined;
  let value = data;
  for (const segment of segments) {
    value = isJsonObject(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
  }
  return value;
}

/** Names of headers, parameters and route values match in any letter case. */
function namedIn<T>(values: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  const wanted = name.toLowerCase();
  const found = Object.keys(values ?? {}).find((given) => given.toLowerCase() === wanted);
  return found === undefined ? undefined : values?.[found];
}

/** An empty text names nobody. */
const textsIn = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).filter(
    (item): item is string => typeof item === "string" && item !== "",
  );
