/**
 * Posts the message as JSON to an address of the operator's.
 *
 * With a secret it is signed as Standard Webhooks describe it (`webhook-id`, `webhook-timestamp`,
 * `webhook-signature`), for which receivers find a library in most languages.
 */
import { createHmac } from "node:crypto";
import { stringifyJson } from "../engine/exact-json.ts";
import type { HttpClient } from "../outgoing/http-client.ts";
import { postJson } from "./post-json.ts";
import type { Sender } from "./sender.ts";
import { stableId } from "./stable-id.ts";

export interface WebhookOptions {
  /** A user and a password before the host are sent as basic credentials. */
  readonly url: string;
  /** Empty: unsigned. */
  readonly secret: string;
  readonly now: () => Date;
}

export function createWebhookSender(http: HttpClient, options: WebhookOptions): Sender {
  const { secret, now } = options;
  const { url, credentials } = withoutCredentials(options.url);
  return async ({ channel, key, operation, data, metadata, trace }, bounds) => {
    const id = stableId(key);
    const body = stringifyJson({ id, channel, operation, data, metadata });
    const headers = {
      ...trace,
      ...credentials,
      "idempotency-key": key,
      ...(secret === "" ? {} : signed(id, body, secret, now())),
    };
    const receiver = `The webhook of the channel '${channel}'`;
    await postJson(http, { url, headers, body, receiver }, bounds);
    return { sender: "webhook" };
  };
}

function withoutCredentials(address: string) {
  const url = new URL(address);
  const { username, password } = url;
  url.username = "";
  url.password = "";
  const pair = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const credentials =
    username === "" && password === "" ? {} : { authorization: `Basic ${pair.toString("base64")}` };
  return { url: url.href, credentials };
}

function signed(id: string, body: string, secret: string, now: Date) {
  const timestamp = String(Math.trunc(now.getTime() / 1000));
  const signature = createHmac("sha256", keyOf(secret))
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}

/** `whsec_` announces bytes in base64, as the libraries write them; any other text is the key itself. */
const keyOf = (secret: string): Buffer =>
  secret.startsWith("whsec_")
    ? Buffer.from(secret.slice("whsec_".length), "base64")
    : Buffer.from(secret, "utf8");
