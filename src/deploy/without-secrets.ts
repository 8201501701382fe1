import type { PublishRequest } from "./publish-request.ts";

/** A registry could send a credential back in an address, which an error message then names. */
export function withoutSecrets(text: string, { registry }: PublishRequest): string {
  let clean = text;
  for (const secret of registry.credentials?.secrets ?? []) {
    for (const spelt of [secret, encodeURIComponent(secret)]) {
      if (spelt !== "") clean = clean.replaceAll(spelt, "***");
    }
  }
  return clean;
}
