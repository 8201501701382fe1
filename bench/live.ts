/**
 * Those who wait for an instance to change: how soon they know, on the node that changes it and on
 * another one, how long many streams take to be told, and what a held request costs in memory.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile, polls, rounds, streams, table } from "./figures.ts";
import { request } from "./load.ts";
import {
  instancesPath,
  payload,
  startInstances,
  startNode,
  type Node,
  type Subject,
} from "./subject.ts";

export async function live(subject: Subject): Promise<void> {
  const [id = "", ...others] = await startInstances(subject, 1000);
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-bench-node-"));
  const other = await startNode(subject.databaseUrl, dataDir);
  try {
    table(
      ["held read, ms", "transition p50", "p99", "woken p50", "p99", "after the change p50", "p99"],
      [
        ["on the node that writes", ...(await wakeUps(subject, subject, id))],
        ["on another node", ...(await wakeUps(subject, other, id))],
      ],
    );
  } finally {
    await other.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
  await fanOut(subject, id);
  await heldPolls(subject, others);
}

const statePath = (id: string) => `${instancesPath}/${id}/functions/state`;

async function move({ url }: Node, id: string): Promise<void> {
  const answer = await fetch(`${url}${instancesPath}/${id}/transitions/approve?sync=true`, {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: payload(),
  });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`the transition was answered with ${answer.status}`);
}

async function etagOf({ url }: Node, id: string): Promise<string> {
  const answer = await fetch(`${url}${statePath(id)}`);
  await answer.arrayBuffer();
  return answer.headers.get("etag") ?? "";
}

/** From sending the transition: until it is answered, until the held read is, and between the two. */
async function wakeUps(writer: Node, reader: Node, id: string): Promise<string[]> {
  const moved: number[] = [];
  const woken: number[] = [];
  const after: number[] = [];
  for (let i = 0; i < 100 * rounds; i += 1) {
    const headers = { "if-none-match": await etagOf(reader, id) };
    const held = fetch(`${reader.url}${statePath(id)}?wait=60`, { headers }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return performance.now();
      },
    );
    // So that it is held, and not answered before.
    await sleep(20);
    const sentAt = performance.now();
    await move(writer, id);
    const movedAt = performance.now();
    const wokenAt = await held;
    moved.push(movedAt - sentAt);
    woken.push(wokenAt - sentAt);
    after.push(Math.max(0, wokenAt - movedAt));
  }
  return [moved, woken, after].flatMap((times) => [
    percentile(times, 0.5).toFixed(1),
    percentile(times, 0.99).toFixed(1),
  ]);
}

async function fanOut(subject: Subject, id: string): Promise<void> {
  let told: (() => void) | undefined;
  const opened = await Promise.all(
    Array.from({ length: streams }, () => openStream(subject.port, id, () => told?.())),
  );
  const times: number[] = [];
  const last: number[] = [];
  for (let round = 0; round < 10 * rounds; round += 1) {
    const sentAt = performance.now();
    let left = streams;
    const all = new Promise<void>((resolve) => {
      told = () => {
        times.push(performance.now() - sentAt);
        left -= 1;
        if (left === 0) resolve();
      };
    });
    await move(subject, id);
    await all;
    last.push(performance.now() - sentAt);
    await sleep(100);
  }
  for (const socket of opened) socket.destroy();
  table(
    ["streams of one instance", "told p50 ms", "p99", "all told p50"],
    [
      [
        streams,
        percentile(times, 0.5).toFixed(1),
        percentile(times, 0.99).toFixed(1),
        percentile(last, 0.5).toFixed(1),
      ],
    ],
  );
}

/** Resolves with the first event; `onEvent` is called for each that follows. */
function openStream(port: number, id: string, onEvent: () => void): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.write(request("GET", `${statePath(id)}/stream`));
  return new Promise((resolve, reject) => {
    let isFirst = true;
    let rest = "";
    socket.once("error", reject);
    socket.on("data", (chunk: Buffer) => {
      const pieces = (rest + chunk.toString("latin1")).split("event: state\n");
      rest = pieces.at(-1)!.slice(-"event: state\n".length);
      for (let events = pieces.length - 1; events > 0; events -= 1) {
        if (isFirst) resolve(socket);
        else onEvent();
        isFirst = false;
      }
    });
  });
}

async function heldPolls(subject: Subject, ids: readonly string[]): Promise<void> {
  await sleep(2000);
  const before = await memoryOf(subject);
  const sockets: Socket[] = [];
  for (let i = 0; i < polls; i += 1) {
    const id = ids[i % ids.length]!;
    const socket = connect({ port: subject.port, host: "127.0.0.1", noDelay: true });
    sockets.push(socket);
    socket.write(request("GET", `${statePath(id)}?wait=60`, undefined, "if-none-match: *\r\n"));
    if (i % 100 === 99) await sleep(20);
  }
  while ((await figure(subject, "http_server_active_requests")) < polls) await sleep(100);
  await sleep(3000);
  const after = await memoryOf(subject);
  const perPoll = (kind: keyof typeof after) =>
    ((after[kind] - before[kind]) / polls / 1024).toFixed(1);
  table(
    ["held reads", "resident KB each", "heap KB each"],
    [[polls, perPoll("resident"), perPoll("heap")]],
  );
  for (const socket of sockets) socket.destroy();
}

const memoryOf = async (node: Node) => ({
  resident: await figure(node, 'process_memory_bytes{kind="rss"}'),
  heap: await figure(node, 'process_memory_bytes{kind="heap_used"}'),
});

async function figure({ url }: Node, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`/metrics has no ${name}`);
  return Number(line.slice(name.length + 1));
}
