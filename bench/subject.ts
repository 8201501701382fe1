/** Starts the product for a benchmark and publishes the workload. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "../src/storage/embedded/embedded-postgres.ts";
import { domain, publish, reference, schemaOf, state, transition, workflow } from "./components.ts";
import { load, request } from "./load.ts";

export interface Subject {
  port: number;
  url: string;
  deployUrl: string;
  databaseUrl: string;
  pid: number;
  postgresPid: number;
  stop(): Promise<void>;
}

/**
 * The built product (`npm run build`), in a process of its own, on a durable embedded PostgreSQL that
 * belongs to the benchmark, so that the reference can use the same server.
 */
export async function startSubject(): Promise<Subject> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-bench-"));
  const postgres = await startEmbeddedPostgres({ dataDir });
  const node = await startNode(postgres.url, dataDir);
  return {
    ...node,
    databaseUrl: postgres.url,
    postgresPid: postgres.pid,
    async stop() {
      await node.stop();
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export type Node = Pick<Subject, "port" | "url" | "deployUrl" | "pid" | "stop">;

/** One process of the product on a database that is there. */
export async function startNode(databaseUrl: string, dataDir: string): Promise<Node> {
  const port = 21_000 + Math.floor(Math.random() * 5000);
  const initPort = port + 5000;
  const profiler = process.env["BENCH_IMPORT"];
  const child = spawn(
    process.execPath,
    [
      ...(profiler === undefined ? [] : ["--import", profiler]),
      fileURLToPath(new URL("../dist/cli/main.js", import.meta.url)),
      "start",
    ],
    {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        MILLRACE_DATA_DIR: dataDir,
        MILLRACE_HOST: "127.0.0.1",
        MILLRACE_PORT: String(port),
        MILLRACE_INIT_PORT: String(initPort),
        MILLRACE_LOG_LEVEL: "warn",
        // The servers that tasks call, and the registry, are the benchmark's own.
        Egress__Allow: "loopback",
      },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line.includes("is running")) resolve();
    });
  });
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    deployUrl: `http://127.0.0.1:${initPort}`,
    pid: child.pid!,
    async stop() {
      const gone = new Promise((resolve) => {
        child.once("exit", resolve);
      });
      child.kill("SIGTERM");
      await gone;
    },
  };
}

export const anyOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;

export const flow = "approval";
export const instancesPath = `/api/v1/${domain}/workflows/${flow}/instances`;

const names = "abcdefghij".split("").map((letter) => `member${letter.toUpperCase()}`);

const payloadSchema = schemaOf("payload", {
  type: "object",
  required: names,
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
});

const approve = (target: string) =>
  transition("approve", target, { schema: reference("sys-schemas", "payload") });

/** Two states and one manual transition that leads from each to the other. */
const approval = workflow(flow, [state("s0", 1, [approve("s1")]), state("s1", 2, [approve("s0")])]);

export async function publishWorkload(subject: Subject): Promise<void> {
  for (const component of [payloadSchema, approval]) await publish(subject, component);
}

/** About 1 KB of data. Made beforehand, so that making them is not what is measured. */
export const payloads = Array.from({ length: 1000 }, () => {
  const members = names.map((name) => [name, Math.random().toString(36).slice(2).padEnd(84, "x")]);
  return JSON.stringify({ attributes: Object.fromEntries(members) });
});

export const payload = (): string => anyOf(payloads);

export async function startInstances({ port, url }: Subject, count: number): Promise<string[]> {
  let left = count;
  await load({
    port,
    connections: 64,
    seconds: 600,
    next: () => {
      left -= 1;
      return request("POST", `${instancesPath}/start?sync=true`, payload());
    },
    until: () => left <= 0,
  });
  const ids: string[] = [];
  for (let page = 1; ids.length < count; page += 1) {
    const list = await fetch(`${url}${instancesPath}?page=${page}&pageSize=100`);
    const { items } = (await list.json()) as { items: { id: string }[] };
    if (items.length === 0) break;
    ids.push(...items.map((item) => item.id));
  }
  return ids;
}
