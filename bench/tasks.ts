/**
 * What tasks cost: a transition with one task of a type, beside a program that does nothing but the
 * same: one SQL statement on the same table, or one call of the same server.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool as Connections } from "pg";
import { Pool as HttpPool } from "undici";
import { median, rounds, seconds, table } from "./figures.ts";
import { load, request } from "./load.ts";
import { domain, publish, taskOf } from "./components.ts";
import { start, workflowWith } from "./one-transition.ts";
import { type Subject } from "./subject.ts";

const clients = 8;
/** Entries that are written in turn: one alone would measure how long writers wait for each other. */
const keys = 16;
const value = { text: "x".repeat(1000) };
const envelope =
  '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><a/></soap:Body></soap:Envelope>';

interface Case {
  name: string;
  type: string;
  config: (n: number) => object;
  reference: string;
  /** One operation of the reference. */
  alone: (n: number) => Promise<unknown>;
}

export async function tasks(subject: Subject): Promise<void> {
  const server = await startServer();
  const bare = new HttpPool(server.url, { connections: clients });
  const database = new Connections({ connectionString: subject.databaseUrl, max: clients });
  const send = async (path: string, contentType: string, body: string) => {
    const answer = await bare.request({
      method: "POST",
      path,
      headers: { "content-type": contentType },
      body,
    });
    await answer.body.text();
  };
  const cases: Case[] = [
    {
      name: "StateStore set",
      type: "17",
      config: (n) => ({ command: "set", key: `bench-${n}`, value }),
      reference: "one SQL upsert",
      alone: (n) => database.query({ ...upsert, values: [`bench-${n}`, JSON.stringify(value)] }),
    },
    {
      name: "StateStore get",
      type: "17",
      config: (n) => ({ command: "get", key: `bench-${n}` }),
      reference: "one SQL select",
      alone: (n) => database.query({ ...select, values: [`bench-${n}`] }),
    },
    {
      name: "HTTP",
      type: "6",
      config: () => ({ url: `${server.url}/json`, method: "POST", body: value }),
      reference: "one call of undici",
      alone: () => send("/json", "application/json", JSON.stringify(value)),
    },
    {
      name: "SOAP",
      type: "16",
      config: () => ({ url: `${server.url}/soap`, soapAction: "urn:bench", body: envelope }),
      reference: "one call of undici",
      alone: () => send("/soap", "text/xml; charset=utf-8", envelope),
    },
  ];
  try {
    await compare(subject, cases);
  } finally {
    await database.end();
    await bare.close();
    await server.close();
  }
}

async function compare(subject: Subject, cases: readonly Case[]): Promise<void> {
  const lines = [];
  for (const [i, { name, type, config, reference, alone }] of cases.entries()) {
    const paths: string[] = [];
    for (let n = 0; n < keys; n += 1) {
      const key = `task-${i}-${n}`;
      await publish(subject, taskOf(key, type, config(n)));
      await publish(subject, workflowWith(key, [binding(key)]));
      const ids = await start(subject, key, instancesEach);
      paths.push(...ids.map((id) => `/api/v1/${domain}/workflows/${key}/instances/${id}`));
    }
    const withTask: number[] = [];
    const withoutUs: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const transitions = await transitionsPerSecond(subject, paths);
      const operations = await operationsPerSecond(alone);
      // The first round warms up.
      if (round === 0) continue;
      withTask.push(transitions);
      withoutUs.push(operations);
    }
    const [ours, theirs] = [median(withTask), median(withoutUs)];
    lines.push([name, ours.toFixed(0), reference, theirs.toFixed(0), (ours / theirs).toFixed(2)]);
  }
  table(
    [`transition with one task, ${clients} clients`, "per s", "beside", "per s", "ratio"],
    lines,
  );
}

const instancesEach = 12;

const binding = (key: string) => ({
  order: 1,
  task: { key, domain, flow: "sys-tasks", version: "1.0.0" },
  mapping: { type: "G" },
});

/** Each instance in its turn: by the time it comes round again, its last transition has ended. */
async function transitionsPerSecond({ port }: Subject, paths: readonly string[]): Promise<number> {
  let turn = 0;
  const { perSecond, errors } = await load({
    port,
    connections: clients,
    seconds,
    next() {
      turn += 1;
      // From workflow to workflow, so that neighbours in time use different keys.
      const path = paths[(turn * instancesEach + Math.floor(turn / keys)) % paths.length]!;
      return request("PATCH", `${path}/transitions/go?sync=true`, "{}");
    },
  });
  if (errors > 0) throw new Error(`${errors} transitions failed`);
  return perSecond;
}

async function operationsPerSecond(operation: (n: number) => Promise<unknown>): Promise<number> {
  let done = 0;
  let started = 0;
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const client = async () => {
    while (performance.now() < end) {
      started += 1;
      await operation(started % keys);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (done / (performance.now() - begin)) * 1000;
}

const upsert = {
  name: "bench-upsert",
  text: `
    insert into state_entry (store, key, value, written_at) values ('bench', $1, $2, now())
    on conflict (store, key) do update
      set value = excluded.value, etag = excluded.etag, written_at = excluded.written_at
    returning etag`,
};

const select = {
  name: "bench-select",
  text: `
    select value::text, etag from state_entry
    where store = 'bench' and key = $1 and (expires_at is null or expires_at > now())`,
};

async function startServer() {
  const server = createServer((incoming, response) => {
    incoming.resume();
    incoming.on("end", () => {
      const isSoap = incoming.url === "/soap";
      response.writeHead(200, { "content-type": isSoap ? "text/xml" : "application/json" });
      response.end(isSoap ? envelope : '{"ok":true}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
