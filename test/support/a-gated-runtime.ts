/** Stands between the deployment service and the runtime: sees every request, and can hold publishes. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, onTestFinished } from "vitest";

export interface GatedRuntime {
  url: string;
  /** `POST /api/v1/definitions/publish`, … in the order they came. */
  seen: string[];
  /** Keys of the components whose publish has arrived. */
  published: string[];
  /** Where requests go on to. Until it is set, every answer is 503. */
  target: string | undefined;
  /** From now on this many publishes get through; the others wait. */
  letThrough(count: number): void;
}

export async function aGatedRuntime(): Promise<GatedRuntime> {
  const { gate, close } = await openGate();
  onTestFinished(close);
  return gate;
}

export async function aGatedRuntimeForFile(): Promise<GatedRuntime> {
  const { gate, close } = await openGate();
  afterAll(close);
  return gate;
}

async function openGate(): Promise<{ gate: GatedRuntime; close: () => Promise<void> }> {
  let left = Number.POSITIVE_INFINITY;
  let waiting: (() => void)[] = [];
  const turn = async (): Promise<void> => {
    if (left > 0) left -= 1;
    else {
      await new Promise<void>((resolve) => waiting.push(resolve));
      await turn();
    }
  };
  const answer = async (request: IncomingMessage): Promise<Response> => {
    const { method = "GET", url = "/", headers } = request;
    gate.seen.push(`${method} ${url}`);
    const body = await buffer(request);
    if (url.endsWith("/definitions/publish")) {
      gate.published.push((JSON.parse(body.toString()) as { key: string }).key);
      await turn();
    }
    if (gate.target === undefined) return new Response(undefined, { status: 503 });
    return fetch(gate.target + url, {
      method,
      headers: { "content-type": headers["content-type"] ?? "application/json" },
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
  };
  const server = createServer((request, response) => {
    answer(request)
      .then(async (answered) => {
        const contentType = answered.headers.get("content-type") ?? "application/json";
        response.writeHead(answered.status, { "content-type": contentType });
        response.end(Buffer.from(await answered.arrayBuffer()));
      })
      // The runtime, or whoever asked, has gone.
      .catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const gate: GatedRuntime = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    published: [],
    target: undefined,
    letThrough(count) {
      left = count;
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
  };
  return {
    gate,
    async close() {
      gate.letThrough(Number.POSITIVE_INFINITY);
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
