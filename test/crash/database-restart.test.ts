/** The database goes away under load, and comes back on the same port. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from "../../src/storage/embedded/embedded-postgres.ts";
import { eventually } from "../support/eventually.ts";
import { databaseUrl } from "../support/postgres-server.ts";
import { startClients, type Asked } from "./clients.ts";
import { startEffects } from "./effects.ts";
import { everyStep, journey } from "./journey.ts";
import { startNode } from "./node-process.ts";
import { auditOf, brokenPromises, rowsOf, unfinished } from "./promises.ts";
import { publish } from "./publish.ts";

let dataDir: string;
let server: EmbeddedPostgres;

// With fsync, unlike the server the other tests share: a killed server must keep what it confirmed.
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "millrace-crash-"));
  server = await startEmbeddedPostgres({ dataDir });
});
afterAll(async () => {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** A node on a database of its own, with 16 clients that have begun to work. */
async function underLoad(env: Record<string, string> = {}) {
  const name = `crash_${crypto.randomUUID().replaceAll("-", "")}`;
  await rowsOf(server.url, `create database ${name}`);
  const url = databaseUrl(server.url, name);
  const atEnd = onTestFinished;
  const effects = await startEffects(atEnd);
  const node = await startNode({ databaseUrl: url, effectUrl: effects.url, env, atEnd });
  await publish(node.url, journey);
  const urls = () => [node.url];
  const clients = startClients({ name: "client", count: 16, urls, steps: everyStep, atEnd });
  await eventually(() => expect(clients.asked.length).toBeGreaterThan(100));
  return { url, clients, effects };
}

type Load = Awaited<ReturnType<typeof underLoad>>;

/** Everybody is refused, then served again, without anybody's help. */
async function outage(
  { clients: { asked } }: Load,
  end: () => Promise<void>,
  begin: () => Promise<void>,
) {
  await end();
  await eventually(() => expect(refusals(asked).length).toBeGreaterThan(4));
  await begin();
  const back = asked.length;
  await eventually(() => expect(done(asked.slice(back)).length).toBeGreaterThan(100));
}

async function expectNothingLost({ url, clients, effects }: Load) {
  await clients.stop();
  await eventually(async () => expect(await unfinished(url)).toEqual([]));
  expect(statuses(clients.asked)).toEqual([200, 202, 503]);
  expect(refusals(clients.asked).every(isProblem)).toBe(true);
  expect(await brokenPromises(url, clients.asked, effects)).toEqual([]);
  expect(await auditOf(url)).toEqual([]);
}

const killServer = async () => {
  process.kill(server.pid, "SIGKILL");
  await server.exited;
  await server.stop();
};

const startAgain = async () => {
  server = await startEmbeddedPostgres({ dataDir, port: server.port });
};

describe(
  "clients see 503 and then normal service, and nothing is lost,",
  { timeout: 300_000 },
  () => {
    test("when the database is stopped and started again", async () => {
      const load = await underLoad();

      await outage(load, () => server.stop(), startAgain);

      await expectNothingLost(load);
    });

    test("when the database is killed and started again", async () => {
      const load = await underLoad();

      await outage(load, killServer, startAgain);

      await expectNothingLost(load);
    });

    // What it was asked before, it does when it comes back, though nobody waits for the answer.
    test.runIf(process.platform === "linux")("when the database hangs for a while", async () => {
      const load = await underLoad({ Database__StatementTimeoutMs: "1000" });
      const pids = [server.pid, ...(await childrenOf(server.pid))];

      await outage(load, signalAll(pids, "SIGSTOP"), signalAll(pids, "SIGCONT"));

      await expectNothingLost(load);
    });
  },
);

const signalAll = (pids: readonly number[], signal: NodeJS.Signals) => async () => {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // One of its helpers may have ended by itself.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
};

async function childrenOf(parent: number): Promise<number[]> {
  const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const children = processes.map(async (pid) => {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const [, parentPid] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(parentPid) === parent ? Number(pid) : undefined;
  });
  return (await Promise.all(children)).filter((pid) => pid !== undefined);
}

const done = (asked: readonly Asked[]) => asked.filter(({ status }) => status < 300 && status > 0);
const refusals = (asked: readonly Asked[]) => asked.filter(({ status }) => status === 503);
const isProblem = ({ contentType }: Asked) =>
  contentType?.startsWith("application/problem+json") === true;
const statuses = (asked: readonly Asked[]) =>
  [...new Set(asked.map(({ status }) => status))].toSorted((a, b) => a - b);
