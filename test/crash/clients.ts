/**
 * Clients that keep a service busy and remember what it promised them. Each drives an instance of its
 * own; each request adds a field of its own to the data, so that whatever is lost or done twice shows.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import type { AtEnd } from "./at-end.ts";

export interface Asked {
  /** The field this request adds to the data. */
  field: string;
  transition: string;
  instance: string | undefined;
  /** Sent again, with the same idempotency key, until it is answered. */
  isKeyed: boolean;
  /** 0 when the connection broke: nobody knows whether it was done. */
  status: number;
  contentType: string | undefined;
}

export interface Clients {
  asked: Asked[];
  /** Ends the clients; resolves when each has its last answer. */
  stop(): Promise<void>;
}

export interface ClientOptions {
  /** Begins the names of the fields, so that they are unique in the database. */
  name: string;
  count: number;
  /** Nodes to talk to, looked up for each request; while there is none, the clients wait. */
  urls: () => readonly string[];
  /** The steps a client takes over and over. */
  steps: readonly Step[];
  atEnd: AtEnd;
}

export interface Step {
  transition: string;
  sync: boolean;
  isKeyed?: boolean;
}

interface Found {
  metadata: { status: string; currentState: string };
  attributes?: object;
}

const path = "/api/v1/core/workflows/journey/instances";
const pauseMs = 40;
/** Above every timeout of the service: an answer that takes longer never comes. */
const patienceMs = 60_000;

export function startClients({ name, count, urls, steps, atEnd }: ClientOptions): Clients {
  const agent = new Agent({ headersTimeout: patienceMs, bodyTimeout: patienceMs });
  const asked: Asked[] = [];
  const stopping = new AbortController();
  let turn = 0;

  const send = async (method: "GET" | "POST" | "PATCH", at: string, body?: object) => {
    const nodes = urls();
    turn += 1;
    const node = nodes[turn % nodes.length];
    if (node === undefined) return { status: 0, body: undefined, contentType: undefined };
    try {
      const answer = await request(node + at, {
        dispatcher: agent,
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      const text = await answer.body.text();
      const contentType = answer.headers["content-type"] as string | undefined;
      return { status: answer.statusCode, body: JSON.parse(text) as unknown, contentType };
    } catch {
      return { status: 0, body: undefined, contentType: undefined };
    }
  };

  const ask = async (
    what: Pick<Asked, "transition" | "instance" | "isKeyed">,
    method: "POST" | "PATCH",
    at: string,
  ) => {
    const field = `${name}_${asked.length}`;
    const entry: Asked = { ...what, field, status: 0, contentType: undefined };
    asked.push(entry);
    const body = { attributes: { [field]: true }, ...(what.isKeyed ? { key: field } : {}) };
    for (;;) {
      const answer = await send(method, at, body);
      const { status, contentType } = answer;
      Object.assign(entry, { status, contentType });
      const isOpen = status === 0 || status === 503;
      if (!isOpen || !what.isKeyed) return { ...answer, entry };
      await sleep(pauseMs * 3);
    }
  };

  /** Until the instance rests with the field in its data; false when the client is told to stop. */
  const settled = async (instance: string, field: string) => {
    while (!stopping.signal.aborted) {
      const { status, body } = await send("GET", `${path}/${instance}`);
      if (status === 200) {
        const { metadata, attributes = {} } = body as Found;
        const rests = metadata.status === "A" && metadata.currentState === "open";
        if (rests && field in attributes) return true;
      }
      await sleep(pauseMs);
    }
    return false;
  };

  const drive = async (client: number) => {
    for (let round = client; !stopping.signal.aborted; round += 1) {
      if (urls().length === 0) {
        await sleep(pauseMs);
        continue;
      }
      const sync = round % 2 === 0;
      const what = { transition: "start", instance: undefined, isKeyed: false };
      const started = await ask(what, "POST", `${path}/start?sync=${sync}`);
      if (started.status !== 200 && started.status !== 202) {
        await sleep(pauseMs);
        continue;
      }
      const instance = (started.body as { id: string }).id;
      started.entry.instance = instance;
      let last = started.entry.field;
      for (let i = 0; i < steps.length && (await settled(instance, last)); i += 1) {
        const { transition, sync: now, isKeyed = false } = steps[(i + client) % steps.length]!;
        const sent = await ask(
          { transition, instance, isKeyed },
          "PATCH",
          `${path}/${instance}/transitions/${transition}?sync=${now}`,
        );
        // Unknown: perhaps it was never made. Better begin a new instance.
        if (sent.status !== 200 && sent.status !== 202) break;
        if (transition === "stop") break;
        last = sent.entry.field;
      }
    }
  };

  const running = Array.from({ length: count }, (_, client) => drive(client));
  const stop = async () => {
    stopping.abort();
    await Promise.all(running);
  };
  atEnd(async () => {
    stopping.abort();
    await agent.destroy();
  });
  return { asked, stop };
}
