/**
 * The claims of a token, as the identity headers that a gateway would send: everything behind reads
 * one form, scripts too. Without an actor (`act`, RFC 8693, or `act_sub`) the subject acts itself.
 */
import { asList, asObject } from "../engine/definition/json.ts";
import { rolesIn } from "../engine/identity-headers.ts";
import { findUnstorable } from "../engine/storable-json.ts";

export interface TokenIdentity {
  readonly actor: string | undefined;
  readonly behalfOf: string | undefined;
  readonly roles: readonly string[];
  /** By the names of the identity headers. */
  readonly headers: Readonly<Record<string, string>>;
}

type Claims = Readonly<Record<string, unknown>>;

/** Undefined when a claim holds what no header and no database can: control characters, say. */
export function identityFrom(
  claims: Claims,
  rolesClaims: readonly string[],
): TokenIdentity | undefined {
  const act = asObject(claims["act"]) ?? {};
  const sub = textOf(claims["sub"]);
  const actor = textOf(act["sub"]) ?? textOf(claims["act_sub"]) ?? sub;
  const roles = [...new Set(rolesClaims.flatMap((name) => rolesAt(claims, name)))];
  const given: Record<string, string | undefined> = {
    sub,
    act_sub: actor,
    userid: textOf(claims["userId"]) ?? textOf(claims["user_id"]) ?? textOf(claims["uid"]),
    act_uid: textOf(claims["act_uid"]) ?? textOf(act["uid"]),
    given_name: textOf(claims["given_name"]),
    family_name: textOf(claims["family_name"]),
    role: roles.length === 0 ? undefined : roles.join(","),
    client_id: textOf(claims["client_id"]) ?? textOf(claims["azp"]),
    consent_id: textOf(claims["consent_id"]),
    position: textOf(claims["position"]),
  };
  const headers = Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const isPlain = Object.values(headers).every((value) => !control.test(value));
  if (!isPlain || findUnstorable(headers) !== undefined) return undefined;
  return { actor, behalfOf: sub, roles, headers };
}

// oxlint-disable-next-line no-control-regex -- control characters are what it keeps out
const control = /[\u0000-\u001F\u007F]/;

function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value.trim() || undefined : undefined;
}

/** A list of roles, or a text of them. A name may be an address with dots, or a path to a member. */
function rolesAt(claims: Claims, name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : memberAt(claims, name.split("."));
  if (typeof value === "string") return rolesIn(value);
  return asList(value).flatMap((item) => textOf(item) ?? []);
}

function memberAt(claims: Claims, path: readonly string[]): unknown {
  let value: unknown = claims;
  for (const step of path) {
    const holder = asObject(value);
    value = holder !== undefined && Object.hasOwn(holder, step) ? holder[step] : undefined;
  }
  return value;
}
