/**
 * Opens the server on one or several addresses. Fastify's own second listener (for `localhost`)
 * lacks our limits and error answers, so the others are opened here.
 */
import type { FastifyInstance } from "fastify";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpServer } from "./create-server.ts";
import type { Handler } from "./node-server.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Serves the same routes on one more address, until the server is closed. */
    listenAlso(host: string, port: number): Promise<void>;
    /** Ends every connection on every address, answered or not. */
    cutConnections(): void;
  }
}

/** IPv4 and IPv6; a machine without IPv6 serves the first alone. */
export const loopback = ["127.0.0.1", "::1"] as const;

/** Resolves to the port. A taken port rejects with `EADDRINUSE`; nothing stays open then. */
export async function listen(
  app: HttpServer,
  at: { hosts: readonly string[]; port: number },
): Promise<number> {
  const [first = loopback[0], ...others] = at.hosts;
  await app.listen({ host: first, port: at.port });
  const { port } = app.server.address() as AddressInfo;
  for (const host of others) {
    try {
      await app.listenAlso(host, port);
    } catch (error) {
      if (isMissingFamily(error)) continue;
      await app.close();
      throw error;
    }
  }
  return port;
}

export function addListeners(app: FastifyInstance, newServer: (handler: Handler) => Server): void {
  const others: Server[] = [];
  app.decorate("listenAlso", async (host: string, port: number) => {
    const server = newServer((request, response) => app.routing(request, response));
    server.listen({ host, port });
    await once(server, "listening");
    others.push(server);
  });
  app.decorate("cutConnections", () => {
    for (const server of [app.server, ...others]) server.closeAllConnections();
  });
  let closed: Promise<unknown> = Promise.resolve();
  app.addHook("preClose", (done) => {
    closed = Promise.all(others.map(close));
    done();
  });
  app.addHook("onClose", async () => {
    await closed;
  });
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  await closed;
}

const isMissingFamily = (error: unknown) =>
  error instanceof Error &&
  "code" in error &&
  (error.code === "EADDRNOTAVAIL" || error.code === "EAFNOSUPPORT");
