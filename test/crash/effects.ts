/** The world outside: a little HTTP server that notes each effect by its idempotency key. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AtEnd } from "./at-end.ts";

export interface Effect {
  key: string;
  instance: string;
  transition: string;
}

export interface Effects {
  url: string;
  /** In the order they happened. */
  all: Effect[];
  of(instance: string): Effect[];
  /** From now on effects happen but are not answered, until `release`. */
  hold(): void;
  /** Answers those that wait, and everything from now on. */
  release(): void;
  /** From now on they are answered at once again; those that wait go on waiting. */
  answerNew(): void;
}

export async function startEffects(atEnd: AtEnd): Promise<Effects> {
  const all: Effect[] = [];
  let holds = false;
  let waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const key = String(request.headers["idempotency-key"]);
      all.push({ key, ...(JSON.parse(body) as Omit<Effect, "key">) });
      if (holds) waiting.push(response);
      else response.end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/effect`,
    all,
    of: (instance) => all.filter((effect) => effect.instance === instance),
    hold: () => {
      holds = true;
    },
    answerNew: () => {
      holds = false;
    },
    release: () => {
      holds = false;
      for (const response of waiting) response.end("{}");
      waiting = [];
    },
  };
}
