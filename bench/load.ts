/**
 * A load generator on raw sockets: a fixed number of connections, each sending its next request when
 * the answer to the last one is there. Costs little enough to share two cores with what it measures.
 */
import { connect, type Socket } from "node:net";

export interface LoadOptions {
  port: number;
  connections: number;
  seconds: number;
  /** The bytes of the next request. */
  next: () => string;
  /** Ends the load before its time. */
  until?: () => boolean;
  /** Statuses that count as good; anything else is an error. */
  good?: readonly number[];
}

export interface LoadResult {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  errors: number;
  statuses: Record<number, number>;
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const { connections, seconds, good = [200] } = options;
  const latencies: number[] = [];
  const statuses: Record<number, number> = {};
  let errors = 0;
  const end = performance.now() + seconds * 1000;

  const client = () =>
    new Promise<void>((resolve) => {
      const socket: Socket = connect({ port: options.port, host: "127.0.0.1", noDelay: true });
      let sentAt = 0;
      let received: Buffer = Buffer.alloc(0);
      const send = () => {
        if (performance.now() >= end || options.until?.() === true) {
          socket.destroy();
          resolve();
          return;
        }
        sentAt = performance.now();
        socket.write(options.next());
      };
      socket.on("connect", send);
      socket.on("error", () => {
        errors += 1;
        resolve();
      });
      socket.on("close", () => resolve());
      socket.on("data", (chunk: Buffer) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const status = wholeAnswer(received);
        if (status === undefined) return;
        received = Buffer.alloc(0);
        latencies.push(performance.now() - sentAt);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (!good.includes(status)) errors += 1;
        send();
      });
    });

  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, client));
  const took = (performance.now() - start) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
  return {
    perSecond: latencies.length / took,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    errors,
    statuses,
  };
}

/** The status when the answer is complete. One request at a time, so nothing follows it. */
function wholeAnswer(received: Buffer): number | undefined {
  const head = received.indexOf("\r\n\r\n");
  if (head === -1) return undefined;
  const text = received.toString("latin1", 0, head);
  const status = Number(text.slice(9, 12));
  if (status === 304 || status === 204) return status;
  const length = /\r\ncontent-length: (\d+)/i.exec(text);
  if (length === null) return status;
  return received.length >= head + 4 + Number(length[1]) ? status : undefined;
}

export const request = (method: string, path: string, body?: string, headers = ""): string =>
  body === undefined
    ? `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`
    : `${method} ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
