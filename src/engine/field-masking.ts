/**
 * `x-masking` of a schema's property: what others see in place of its value.
 *
 *   { "operator": "mask", "params": { "keepFirst": 2, "keepLast": 4, "maskingChar": "*" },
 *     "roles": [ { "role": "auditor", "grant": "allow" } ] }
 *   { "operator": "replace", "params": { "value": "[hidden]" } }
 *
 * Whoever matches one of `roles` sees the value itself; everybody else the mask. What cannot be
 * understood masks the whole value: a slip in a definition must not uncover anything.
 */
import { asObject, asText } from "./definition/json.ts";
import type { RoleGrant } from "./definition/model.ts";
import { normaliseRoles } from "./definition/normalise-parts.ts";
import { isExactNumber, type JsonValue } from "./exact-json.ts";
import { rolesAllow, rolesAllowForAny, type RoleCaller } from "./role-gate.ts";

export interface Masking {
  /** What stands in place of every value; undefined: the value with its middle masked. */
  readonly replacement: string | undefined;
  readonly keepFirst: number;
  readonly keepLast: number;
  readonly maskingChar: string;
  /** Allows only. */
  readonly exempt: readonly RoleGrant[];
}

const defaultChar = "*";

export function readMasking(value: unknown): Masking {
  const { operator, params, roles } = asObject(value) ?? {};
  const given = asObject(params) ?? {};
  const isMask = operator === "mask";
  const char = asText(given["maskingChar"]);
  return {
    replacement: operator === "replace" ? asText(given["value"]) : undefined,
    keepFirst: isMask ? countOf(given["keepFirst"]) : 0,
    keepLast: isMask ? countOf(given["keepLast"]) : 0,
    maskingChar: char !== undefined && Array.from(char).length === 1 ? char : defaultChar,
    exempt: normaliseRoles(roles).filter(({ grant }) => grant === "allow"),
  };
}

const countOf = (value: unknown): number =>
  typeof value === "number" && Number.isInteger(value) && value > 0 ? value : 0;

export const isExempt = ({ exempt }: Masking, caller: RoleCaller): boolean =>
  exempt.length > 0 && rolesAllow(exempt, caller);

/** Whichever instance it is. */
export const isExemptForAny = ({ exempt }: Masking, caller: RoleCaller): boolean =>
  exempt.length > 0 && rolesAllowForAny(exempt, caller);

/** Always a text, except that nothing stays nothing. */
export function maskValue(value: JsonValue, masking: Masking): JsonValue {
  if (value === null) return null;
  if (masking.replacement !== undefined) return masking.replacement;
  const text = scalarText(value);
  return text === undefined ? masking.maskingChar.repeat(3) : maskText(text, masking);
}

function scalarText(value: JsonValue): string | undefined {
  if (typeof value === "string") return value;
  if (isExactNumber(value)) return value.text;
  return typeof value === "object" ? undefined : String(value);
}

/** As long as the value. One so short that all of it would be kept is masked whole. */
function maskText(text: string, { keepFirst, keepLast, maskingChar }: Masking): string {
  const characters = Array.from(text);
  const { length } = characters;
  if (keepFirst + keepLast >= length) return maskingChar.repeat(length);
  return [
    ...characters.slice(0, keepFirst),
    maskingChar.repeat(length - keepFirst - keepLast),
    ...characters.slice(length - keepLast),
  ].join("");
}
