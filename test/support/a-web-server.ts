/** A real little server on loopback, which tells what it was asked and how often it was connected to. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, onTestFinished } from "vitest";
import type { Certificate } from "./a-certificate.ts";

export interface WebServer {
  /** `http://127.0.0.1:1234` */
  url: string;
  port: number;
  /** Everything that was asked, oldest first. */
  asked: Asked[];
  /** How many connections were made. */
  connections(): number;
}

export interface Asked {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export type Answering = (asked: Asked, ...rest: Parameters<RequestListener>) => void;

/** For one test; its connections are cut at the end. */
export async function aWebServer(answer: Answering, tls?: Certificate): Promise<WebServer> {
  const { server, web } = await open(answer, tls);
  onTestFinished(() => close(server));
  return web;
}

/** For all tests of a file. */
export async function aWebServerForFile(answer: Answering): Promise<WebServer> {
  const { server, web } = await open(answer);
  afterAll(() => close(server));
  return web;
}

async function open(answer: Answering, tls?: Certificate) {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  const listener: RequestListener = (request, response) => {
    void text(request).then(
      (body) => {
        const { method = "", url = "", headers } = request;
        const one = { method, url, headers, body };
        asked.push(one);
        answer(one, request, response);
      },
      // Whoever asked has gone in the middle of it.
      () => undefined,
    );
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  return { server, web: { url, port, asked, connections: () => sockets.size } };
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
