/**
 * The public keys that tokens are signed with, as the issuer publishes them (a JWK Set).
 *
 * Kept for ten minutes. A token that names a key nobody has seen is a reason to look again: that is
 * how keys are rotated. Such looks are rare on purpose, because anybody can invent a key's name.
 * While the issuer does not answer, the keys that are known go on being used.
 */
import {
  createLocalJWKSet,
  errors,
  type CryptoKey,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWK,
  type JWSHeaderParameters,
} from "jose";

export interface KeySetOptions {
  /** The JSON text, from wherever the issuer has it. */
  read: () => Promise<string>;
  /** Milliseconds on a clock that only goes forward. */
  now: () => number;
  onTrouble: (event: string, error: unknown) => void;
}

/** Rejects with `KeysUnavailable` when nobody can say, with an error of jose when there is none. */
export type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

/** The keys could not be read, so the token may be good or bad. */
export class KeysUnavailable extends Error {
  override readonly name = "KeysUnavailable";
}

export const keptMs = 600_000;
export const cooldownMs = 30_000;
export const retryMs = 1000;

interface Known {
  find: FindKey;
  readAt: number;
}

export function createKeySet({ read, now, onTrouble }: KeySetOptions): FindKey {
  let known: Known | undefined;
  let failedAt = -Infinity;
  let reading: Promise<void> | undefined;

  /** Callers at the same moment share one look. */
  const look = (): Promise<void> =>
    (reading ??= read()
      .then((text) => {
        known = { find: createLocalJWKSet(publicKeysIn(text)), readAt: now() };
        failedAt = -Infinity;
      })
      .catch((error: unknown) => {
        failedAt = now();
        onTrouble("TokenKeysNotRead", error);
      })
      .finally(() => {
        reading = undefined;
      }));

  const current = async (): Promise<Known> => {
    const isOld = known === undefined || now() - known.readAt >= keptMs;
    if (isOld && now() - failedAt >= retryMs) await look();
    if (known === undefined) throw new KeysUnavailable("The keys of the tokens cannot be read.");
    return known;
  };

  return async (header, token) => {
    const before = await current();
    try {
      return await before.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (now() - before.readAt < cooldownMs) throw error;
      if (now() - failedAt >= retryMs) await look();
      const after = await current();
      if (after === before) throw new KeysUnavailable("The keys of the tokens cannot be read.");
      return after.find(header, token);
    }
  };
}

/** A secret or private key in the set is none that a token may be checked with. */
function publicKeysIn(text: string): JSONWebKeySet {
  const { keys } = JSON.parse(text) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new TypeError("A JWK Set has a list 'keys'; this one has none.");
  return { keys: keys.filter(isPublic) };
}

const isPublic = (key: unknown): key is JWK =>
  typeof key === "object" && key !== null && !("d" in key) && !("k" in key);
