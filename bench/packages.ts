/**
 * A package of a thousand components, beside a thousand bare publishes of the same components to the
 * same runtime: one by one, and as many at a time as the deployment service sends.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { Agent, request } from "undici";
import { Header } from "tar";
import { cpuSeconds } from "./cpu.ts";
import { median, rounds, table } from "./figures.ts";
import type { Subject } from "./subject.ts";

const components = 1000;
/** The default of Deploy.Concurrency. */
const atOnce = 4;

export async function packages(subject: Subject): Promise<void> {
  const alone: Cost[] = [];
  const together: Cost[] = [];
  const deployed: Cost[] = [];
  const registry = await openRegistry();
  // The first publish compiles the schemas.
  await publishAll(subject, tasksOf("warm", 50), atOnce);
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await costOf(subject, () => publishAll(subject, tasksOf(`alone-${round}`), 1)));
    together.push(
      await costOf(subject, () => publishAll(subject, tasksOf(`together-${round}`), atOnce)),
    );
    deployed.push(await costOf(subject, () => deploy(subject, registry, `deployed-${round}`)));
  }
  await registry.close();

  const seconds = (costs: Cost[]) => median(costs.map((cost) => cost.seconds));
  const line = (name: string, costs: Cost[]) => [
    name,
    seconds(costs).toFixed(2),
    Math.round(components / seconds(costs)),
    (seconds(costs) / seconds(alone)).toFixed(2),
    (seconds(costs) / seconds(together)).toFixed(2),
    Math.round((median(costs.map((cost) => cost.cpuSeconds)) / components) * 1e6),
  ];
  table(
    ["1,000 components", "seconds", "per s", "× one by one", `× ${atOnce} at a time`, "Node µs"],
    [
      line("bare, one by one", alone),
      line(`bare, ${atOnce} at a time`, together),
      line("package", deployed),
    ],
  );
}

interface Cost {
  seconds: number;
  /** Of the service's process: robust against whatever else the machine does. */
  cpuSeconds: number;
}

async function costOf({ pid }: Subject, work: () => Promise<number>): Promise<Cost> {
  const before = cpuSeconds(pid);
  const seconds = await work();
  return { seconds, cpuSeconds: cpuSeconds(pid) - before };
}

interface Task {
  key: string;
  [member: string]: unknown;
}

const tasksOf = (prefix: string, count = components): Task[] =>
  Array.from({ length: count }, (_, i) => ({
    key: `${prefix}-${i}`,
    flow: "sys-tasks",
    domain: "bench",
    version: "1.0.0",
    flowVersion: "1.0.0",
    tags: ["bench"],
    attributes: {
      type: "6",
      config: { url: "https://example.com/", method: "POST", headers: { number: String(i) } },
    },
  }));

async function publishAll(
  { url }: Subject,
  tasks: readonly Task[],
  connections: number,
): Promise<number> {
  const agent = new Agent({ connections });
  const waiting = tasks.map((task) => JSON.stringify(task));
  const start = performance.now();
  const client = async () => {
    for (let body = waiting.pop(); body !== undefined; body = waiting.pop()) {
      const answer = await request(`${url}/api/v1/definitions/publish`, {
        dispatcher: agent,
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      if (answer.statusCode !== 200) throw new Error(await answer.body.text());
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  const seconds = (performance.now() - start) / 1000;
  await agent.close();
  return seconds;
}

/** From the request to the job's end, download included. */
async function deploy(subject: Subject, registry: Registry, name: string): Promise<number> {
  registry.add(name, archiveOf(tasksOf(name)));
  const start = performance.now();
  const answer = await fetch(`${subject.deployUrl}/api/package/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ packageName: name, npmRegistry: registry.url }),
  });
  const { statusUrl } = (await answer.json()) as { statusUrl: string };
  for (;;) {
    const polled = await fetch(subject.deployUrl + statusUrl);
    const job = (await polled.json()) as { status: string; results?: { successful: string[] } };
    if (job.status === "completed" && job.results?.successful.length === components) {
      return (performance.now() - start) / 1000;
    }
    if (job.status !== "accepted" && job.status !== "processing") {
      throw new Error(JSON.stringify(job).slice(0, 2000));
    }
    await delay(100);
  }
}

const blockBytes = 512;

function archiveOf(tasks: readonly Task[]): Buffer {
  const blocks = tasks.flatMap((task) => {
    const content = Buffer.from(JSON.stringify(task));
    const header = Buffer.alloc(blockBytes);
    const path = `package/core/Tasks/${task.key}.json`;
    new Header({ path, type: "File", mode: 0o644, size: content.length }).encode(header, 0);
    return [
      header,
      content,
      Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes),
    ];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]));
}

interface Registry {
  url: string;
  add(name: string, archive: Buffer): void;
  close(): Promise<void>;
}

async function openRegistry(): Promise<Registry> {
  const archives = new Map<string, Buffer>();
  const server = createServer((incoming, response) => {
    const [, name = "", file] = (incoming.url ?? "").split("/");
    const archive = archives.get(name);
    if (archive === undefined) response.writeHead(404).end();
    else if (file !== undefined) response.end(archive);
    else {
      const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
      const dist = { tarball: `${url}/${name}/archive.tgz`, integrity };
      const versions = { "1.0.0": { name, version: "1.0.0", dist } };
      response.end(JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions }));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    add: (name, archive) => archives.set(name, archive),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
