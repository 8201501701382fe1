/** Access lists: who is allowed, who is denied. */
import { at, type Report } from "./findings.ts";
import { asList, asObject, asText, isPresent, show } from "./json.ts";

/** Roles that stand for people known to the instance; spelled exactly so. */
export const predefinedRoles: readonly string[] = [
  "$InstanceStarter",
  "$PreviousUser",
  "$InstanceBehalfOfStarter",
  "$PreviousBehalfOfUser",
];

const dynamicRole = /^\$(?:user|userBehalfOf|role)\./;
const contextPath = /^\$(?:user|userBehalfOf|role)\.\$\.context\.[^\s.]/;

export function checkRoles(report: Report, path: string, value: unknown): void {
  for (const [i, item] of asList(value).entries()) {
    const grant = asObject(item);
    if (grant !== undefined) checkGrant(report, at(path, i), grant);
  }
}

function checkGrant(report: Report, path: string, grant: Readonly<Record<string, unknown>>): void {
  const given = ["role", "allOf", "anyOf"].filter((member) => isPresent(grant[member]));
  if (given.length !== 1) {
    report.mistake(
      path,
      `A role grant needs exactly one of 'role', 'allOf' and 'anyOf'; it has ${given.length === 0 ? "none" : given.join(" and ")}.`,
    );
  }
  checkRole(report, at(path, "role"), grant["role"]);
  for (const member of ["allOf", "anyOf"]) {
    for (const [i, child] of asList(grant[member]).entries()) {
      checkRole(report, at(path, member, i, "role"), asObject(child)?.["role"]);
    }
  }
}

function checkRole(report: Report, path: string, value: unknown): void {
  const role = asText(value);
  if (role === undefined || !role.startsWith("$")) return;
  if (dynamicRole.test(role)) {
    if (!contextPath.test(role)) {
      report.mistake(
        path,
        `The dynamic role ${show(role)} lacks '$.context.' and a path; write it like $user.$.context.Instance.Data.ownerId.`,
      );
    }
  } else if (!predefinedRoles.includes(role)) {
    report.warning(
      path,
      `${show(role)} is none of ${predefinedRoles.join(", ")} and is compared as plain text.`,
    );
  }
}
