import { blank } from "./configuration.ts";
import { InvalidOperationException, isBlank } from "./errors.ts";
import { servicesOf } from "./services.ts";

/** One value; a key that the secret does not have is an empty text. */
export function readSecret(script: object, store: string, secret: string, key: string): string {
  const available = secretsOf(script);
  requireNames(store, secret);
  if (isBlank(key)) throw blank("Secret key", "secretKey");
  const values = available[store]?.[secret];
  if (values === undefined) {
    throw new InvalidOperationException(
      `Failed to retrieve secret '${key}' from store '${store}': the secret '${secret}' is not open to this script.`,
    );
  }
  return Object.hasOwn(values, key) ? (values[key] ?? "") : "";
}

export function readSecrets(script: object, store: string, secret: string): Record<string, string> {
  const available = secretsOf(script);
  requireNames(store, secret);
  const values = available[store]?.[secret];
  if (values === undefined) {
    throw new InvalidOperationException(
      `Failed to retrieve secrets from store '${store}': the secret '${secret}' is not open to this script.`,
    );
  }
  return { ...values };
}

function secretsOf(script: object) {
  const services = servicesOf(script);
  if (services !== undefined) return services.secrets;
  throw new InvalidOperationException("Secrets are not available. Ensure services are injected.");
}

function requireNames(store: string, secret: string): void {
  if (isBlank(store)) throw blank("Dapr Store name", "storeName");
  if (isBlank(secret)) throw blank("Store name", "secretStore");
}
