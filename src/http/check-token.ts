/**
 * A bearer token, checked: signature, issuer, audience, lifetime. Only public-key algorithms that the
 * configuration lists are accepted, so a token cannot choose a weaker one, or none.
 */
import { errors, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import { hash } from "node:crypto";
import { problems } from "../engine/problems.ts";
import { KeysUnavailable, type FindKey } from "./key-set.ts";
import { identityFrom, type TokenIdentity } from "./token-identity.ts";

export interface TokenRules {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly algorithms: readonly string[];
  readonly clockToleranceSeconds: number;
  /** Of the token's text. */
  readonly maxBytes: number;
  readonly rolesClaims: readonly string[];
}

/** Rejects with a problem: 401 for a token that is not good, 503 when nobody can say. */
export type CheckToken = (token: string) => Promise<TokenIdentity>;

/** A signature costs half a millisecond; a client sends the same token with every request. */
const kept = { tokens: 5000, ms: 60_000 };

interface Checked {
  identity: TokenIdentity;
  /** Seconds since 1970, with the tolerance. */
  endsAt: number;
}

export function createTokenCheck(
  rules: TokenRules,
  findKey: FindKey,
  now: () => Date = () => new Date(),
): CheckToken {
  const known = new LRUCache<string, Checked>({ max: kept.tokens, ttl: kept.ms });
  return async (token) => {
    if (token.length > rules.maxBytes) {
      throw problems.tokenInvalid({ reason: `is longer than ${rules.maxBytes} characters` });
    }
    const id = hash("sha256", token, "base64url");
    const before = known.get(id);
    if (before !== undefined && now().getTime() / 1000 < before.endsAt) return before.identity;
    const checked = await check(token, rules, findKey, now());
    known.set(id, checked);
    return checked.identity;
  };
}

async function check(
  token: string,
  rules: TokenRules,
  findKey: FindKey,
  currentDate: Date,
): Promise<Checked> {
  const { issuer, clockToleranceSeconds: clockTolerance } = rules;
  const { payload } = await jwtVerify(token, findKey, {
    issuer,
    audience: [...rules.audience],
    algorithms: [...rules.algorithms],
    clockTolerance,
    currentDate,
    requiredClaims: ["exp"],
  }).catch((error: unknown) => {
    throw refusalOf(error);
  });
  const identity = identityFrom(payload, rules.rolesClaims);
  if (identity === undefined) {
    throw problems.tokenInvalid({ reason: "has a claim with characters that no name has" });
  }
  return { identity, endsAt: (payload.exp ?? 0) + clockTolerance };
}

function refusalOf(error: unknown): unknown {
  if (error instanceof KeysUnavailable) return problems.tokenNotChecked({}, { cause: error });
  // Whatever a token can bring about is the token's fault; anything else is ours.
  if (!(error instanceof errors.JOSEError) && !(error instanceof TypeError)) return error;
  return problems.tokenInvalid({ reason: reasonOf(error) }, { cause: error });
}

function reasonOf(error: Error): string {
  if (error instanceof errors.JWTExpired) return "has expired";
  if (error instanceof errors.JWTClaimValidationFailed)
    return claimReasons[error.claim] ?? "lacks a claim";
  if (error instanceof errors.JOSEAlgNotAllowed)
    return "is signed with an algorithm that is not allowed";
  if (error instanceof errors.JWKSNoMatchingKey)
    return "is signed with a key that the issuer does not have";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "has a wrong signature";
  return "is malformed";
}

const claimReasons: Readonly<Record<string, string>> = {
  iss: "is from another issuer",
  aud: "is for another audience",
  nbf: "is not valid yet",
  exp: "does not say when it expires",
};
