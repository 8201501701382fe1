/** A server for tests of the HTTP foundation: a few routes, a log kept in memory, closed at the end of the test. */
import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished } from "vitest";
import { createServer, type HttpServer, type ServerOptions } from "../../src/http/create-server.ts";
import { listen } from "../../src/http/listen.ts";
import { createLog } from "../../src/log.ts";
import { problems } from "../../src/engine/problems.ts";
import { StorageUnavailable } from "../../src/engine/storage-unavailable.ts";

export interface TestServer {
  app: HttpServer;
  /** What was logged so far, one object per line. */
  logged: Record<string, unknown>[];
}

export function aServer(options: Partial<ServerOptions> = {}): TestServer {
  const logged: Record<string, unknown>[] = [];
  const log = createLog({
    level: "trace",
    destination: { write: (line) => logged.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const app = createServer({ appVersion: "1.2.3", log, ...options });
  onTestFinished(() => app.close());
  app.get("/api/v1/:domain/things/:thing", (request) => ({
    params: request.params,
    query: request.query,
  }));
  app.post("/api/v1/echo", (request) => ({
    body: request.body ?? "none",
    bytes: request.rawBody?.length ?? 0,
  }));
  app.get("/api/v1/fails", () => {
    throw new Error("password of the database is hunter2");
  });
  app.get("/api/v1/refuses", () => {
    throw problems.instanceNotFound(
      { domain: "core", workflow: "loan", instance: "L-1" },
      { target: "L-1" },
    );
  });
  app.get("/api/v1/storage-away", () => {
    throw new StorageUnavailable("connection refused", { retryAfterSeconds: 7 });
  });
  app.get("/api/v1/long", () => ({ text: "word ".repeat(1000) }));
  return { app, logged };
}

/** Opens the server on a free port of the loopback. */
export async function onAPort(app: HttpServer): Promise<number> {
  return listen(app, { hosts: ["127.0.0.1"], port: 0 });
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends bytes as they are, and reads until the server closes the connection. */
export async function sendBytes(port: number, ...chunks: (string | Buffer)[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (data) => (received += data.toString("latin1")));
  // A reset after the answer is the server's right; what was read before it counts.
  socket.on("error", () => undefined);
  await once(socket, "connect");
  for (const chunk of chunks) socket.write(chunk);
  await once(socket, "close");
  return received;
}

export function readAnswer(text: string): RawAnswer {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(statusLine.split(" ")[1]), headers, body };
}
