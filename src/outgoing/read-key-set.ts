import type { HttpClient } from "./http-client.ts";

const timeoutMs = 5000;
const maxBytes = 1024 * 1024;

/** The key set at an address of the configuration. */
export async function readKeySet(http: HttpClient, url: string): Promise<string> {
  const { status, body } = await http.send({
    url,
    method: "GET",
    headers: { accept: "application/jwk-set+json, application/json" },
    timeoutMs,
    maxBytes,
    isConfigured: true,
  });
  if (status !== 200) throw new Error(`${url} answers ${status} instead of a key set.`);
  return new TextDecoder().decode(body);
}
