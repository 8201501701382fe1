/** An issuer of tokens: keys that can be rotated, their public halves, and tokens of any quality. */
import { CompactSign, exportJWK, generateKeyPair, type CryptoKey, type JWK } from "jose";

export const issuerName = "https://issuer.test";
export const audienceName = "millrace-tests";

export interface Claims {
  [name: string]: unknown;
}

export interface TokenIssuer {
  /** The JWK Set of all keys that were not retired. */
  keySet(): { keys: JWK[] };
  addKey(kid: string, alg?: string): Promise<void>;
  retire(kid: string): void;
  /** Good unless the claims or the header say otherwise. `undefined` takes a claim away. */
  token(claims?: Claims, header?: { kid?: string; [name: string]: unknown }): Promise<string>;
}

interface Pair {
  alg: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

/** Curves are made in an instant; a key of RSA takes long. */
export async function aTokenIssuer(firstAlg = "ES256"): Promise<TokenIssuer> {
  const pairs = new Map<string, Pair>();
  const retired = new Set<string>();

  const addKey: TokenIssuer["addKey"] = async (kid, alg = "ES256") => {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    pairs.set(kid, {
      alg,
      privateKey,
      jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" },
    });
  };
  await addKey("first", firstAlg);

  return {
    addKey,
    retire: (kid) => void retired.add(kid),
    keySet: () => ({
      keys: [...pairs].filter(([kid]) => !retired.has(kid)).map(([, { jwk }]) => jwk),
    }),
    token(claims = {}, { kid = "first", ...header } = {}) {
      const { alg, privateKey } = pairs.get(kid)!;
      const body = new TextEncoder().encode(JSON.stringify(goodClaims(claims)));
      return new CompactSign(body).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
    },
  };
}

export const goodClaims = (claims: Claims = {}): Claims => ({
  iss: issuerName,
  aud: audienceName,
  sub: "ayse",
  exp: secondsFromNow(600),
  ...claims,
});

export const secondsFromNow = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

/** A token as anybody can write one: the signature is whatever is given. */
export const handmadeToken = (header: object, claims: object, signature = ""): string =>
  [JSON.stringify(header), JSON.stringify(claims)]
    .map((part) => Buffer.from(part).toString("base64url"))
    .concat(signature)
    .join(".");
