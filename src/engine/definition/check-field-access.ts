/** `x-roles` and `x-masking` of a schema: who sees a property, and who sees it masked. */
import { checkRoles } from "./check-roles.ts";
import { grant } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { asList, asObject, asText, isPresent, show, type JsonObject } from "./json.ts";

export function checkFieldAccess(report: Report, path: string, schema: JsonObject): void {
  const roles = schema["x-roles"];
  if (isPresent(roles) && !isGrantList(roles)) {
    report.mistake(
      at(path, "x-roles"),
      `'x-roles' is ${show(roles)}; it is a list of role grants such as { "role": "clerk", "grant": "allow" }.`,
    );
  }
  checkRoles(report, at(path, "x-roles"), roles);
  if (isPresent(schema["x-masking"])) {
    checkMasking(report, at(path, "x-masking"), schema["x-masking"]);
  }
  const encryption = asObject(schema["x-encryption"])?.["type"] ?? schema["x-encryption"];
  if (isPresent(encryption) && encryption !== "none") {
    report.warning(
      at(path, "x-encryption"),
      "'x-encryption' has no effect: the value is stored as it is. Hide it with 'x-roles' or 'x-masking'.",
    );
  }
}

const isGrantList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => asObject(item) !== undefined);

function checkMasking(report: Report, path: string, value: unknown): void {
  const masking = asObject(value);
  const operator = masking?.["operator"];
  if (masking === undefined || (operator !== "mask" && operator !== "replace")) {
    report.mistake(
      path,
      `'x-masking' needs an 'operator' that is mask or replace; it ${masking === undefined ? `is ${show(value)}` : `has ${show(operator)}`}.`,
    );
    return;
  }
  const params = asObject(masking["params"]) ?? {};
  if (operator === "mask") checkMask(report, at(path, "params"), params);
  else if ((asText(params["value"]) ?? "") === "") {
    report.mistake(
      at(path, "params", "value"),
      "'replace' needs the text that stands in place of the value.",
    );
  }
  checkExemptions(report, at(path, "roles"), masking["roles"]);
}

function checkMask(report: Report, path: string, params: JsonObject): void {
  for (const member of ["keepFirst", "keepLast"]) {
    const count = params[member];
    if (!isPresent(count) || (Number.isInteger(count) && (count as number) >= 0)) continue;
    report.mistake(
      at(path, member),
      `'${member}' is ${show(count)}; it is how many characters stay: 0 or more.`,
    );
  }
  const char = params["maskingChar"];
  if (isPresent(char) && Array.from(asText(char) ?? "").length !== 1) {
    report.mistake(at(path, "maskingChar"), `'maskingChar' is ${show(char)}; it is one character.`);
  }
}

function checkExemptions(report: Report, path: string, roles: unknown): void {
  checkRoles(report, path, roles);
  for (const [i, item] of asList(roles).entries()) {
    if (grant.read(asObject(item)?.["grant"]) === "allow") continue;
    report.mistake(
      at(path, i, "grant"),
      "The roles of 'x-masking' are those who see the value itself: each is an allow. Hide a value from a role with 'x-roles'.",
    );
  }
}
