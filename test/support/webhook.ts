/** A server on the loopback that keeps what is posted to it. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll } from "vitest";

export interface Posted {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Webhook {
  url: string;
  posts: Posted[];
}

export interface WebhookOptions {
  status?: number;
  headers?: Record<string, string>;
  /** The answer waits for it. */
  hold?: () => Promise<void>;
}

/** Closes with the file's tests. */
export async function startWebhook(options: WebhookOptions = {}): Promise<Webhook> {
  const { status = 202, headers = {}, hold = () => Promise.resolve() } = options;
  const posts: Posted[] = [];
  const server = createServer((request, response) => {
    const answer = async () => {
      const { method = "", url: path = "" } = request;
      posts.push({ method, path, headers: request.headers, body: await text(request) });
      await hold();
      response.writeHead(status, headers).end();
    };
    answer().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, posts };
}
