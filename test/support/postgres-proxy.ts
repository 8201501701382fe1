/**
 * Stands between the product and PostgreSQL and counts what goes by: each execution of a statement by
 * the statement's name (`Bind` messages name it; plain queries count as `(unnamed)`).
 */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface PostgresProxy {
  url: string;
  counts: Map<string, number>;
  close(): Promise<void>;
}

export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl);
  const counts = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const read = createReader((name) => counts.set(name, (counts.get(name) ?? 0) + 1));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (chunk: Buffer) => {
      read(chunk);
      upstream.write(chunk);
    });
    upstream.pipe(client);
    client.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    counts,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Frontend messages: type byte and length, but for the very first one, which has no type. */
function createReader(onStatement: (name: string) => void): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  let isFirst = true;
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (pending.length < head + 4) return;
      const size = head + pending.readInt32BE(head);
      if (pending.length < size) return;
      const type = isFirst ? "" : String.fromCharCode(pending[0]!);
      if (type === "B") {
        // portal name, then statement name, both ending in a zero byte
        const portalEnd = pending.indexOf(0, 5);
        const name = pending.toString("utf8", portalEnd + 1, pending.indexOf(0, portalEnd + 1));
        onStatement(name === "" ? "(unnamed)" : name);
      } else if (type === "Q") onStatement("(unnamed)");
      isFirst = false;
      pending = pending.subarray(size);
    }
  };
}
