/** An address as it may be written down: without credentials, wherever in it they stand. */
import { isSecretName, masked } from "../engine/mask-secrets.ts";

/** Names of signatures and keys in addresses that cloud stores and gateways sign. */
const signatures: ReadonlySet<string> = new Set([
  "key",
  "code",
  "sig",
  "signature",
  "subscription-key",
  "x-amz-credential",
  "x-amz-security-token",
  "x-amz-signature",
  "x-goog-credential",
  "x-goog-signature",
]);

export function safeUrl(url: string): string {
  const [, scheme = "", userinfo = "", rest = ""] =
    /^([a-z][a-z0-9+.-]*:[\\/]*)?(?:([^/?#\\]*)@)?(.*)$/is.exec(url) ?? [];
  const shown = `${scheme}${userinfo === "" ? "" : `${masked}@`}${rest}`;
  // A name ends at the next mark that may begin one: otherwise each of them would look to the end.
  return shown.replaceAll(/([?&;#])([^=?&;#]+)=([^&;#]*)/g, (pair, before: string, name: string) =>
    isSecret(name) ? `${before}${name}=${masked}` : pair,
  );
}

const isSecret = (name: string): boolean =>
  isSecretName(name) || signatures.has(name.toLowerCase());
