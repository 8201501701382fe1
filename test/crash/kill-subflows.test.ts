/**
 * kill -9 around the start of children, their end, and the going on of their parents, three levels
 * deep: each child is started once, each end is applied once, and nobody waits for ever.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { FaultPointName } from "../../src/runtime/fault-point.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import type { AtEnd } from "./at-end.ts";
import { startNode, type NodeProcess } from "./node-process.ts";
import { auditOf, rowsOf, unfinished } from "./promises.ts";
import { publish } from "./publish.ts";
import { trips, wrongAbandoned, wrongTrips } from "./trips.ts";

/** Which pass: in the middle of things, at different levels. */
const points: readonly [point: FaultPointName, pass: number][] = [
  ["before-child-start", 3],
  ["before-start-write", 9],
  ["after-start-write", 8],
  ["before-resume", 2],
  ["before-resume", 5],
  ["after-checkpoint", 2],
  ["after-journal", 2],
  ["before-settle-write", 6],
  ["after-settle-write", 5],
  ["after-settle-write", 12],
];

const cancelPoints: readonly FaultPointName[] = [
  "before-run",
  "before-settle-write",
  "after-settle-write",
];

const tripsAtOnce = 6;

async function startCluster(nodeCount: number, atEnd: AtEnd) {
  const { url: databaseUrl, drop } = await createDatabase();
  atEnd(drop);
  const start = (env: Record<string, string> = {}) => startNode({ databaseUrl, env, atEnd });
  const alive: NodeProcess[] = await Promise.all(Array.from({ length: nodeCount }, () => start()));
  await publish(alive[0]!.url, trips);
  return { databaseUrl, alive, start, turn: 0 };
}

type Cluster = Awaited<ReturnType<typeof startCluster>>;

interface Trip {
  id: string;
  metadata: { status: string; currentState: string; effectiveState: string };
}

/** Undefined when nobody answers: the node may have died of it. */
async function ask(cluster: Cluster, method: string, path: string, body?: object) {
  const { alive } = cluster;
  if (body !== undefined) cluster.turn += 1;
  const node = alive[cluster.turn % alive.length];
  try {
    const answer = await fetch(`${node?.url}/api/v1/core/workflows/trip/instances${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Trip };
  } catch {
    return undefined;
  }
}

/** Looks where the trip is and sends what it needs there, until it is where it should be. */
async function drive(cluster: Cluster, name: string, until: (trip: Trip) => string | undefined) {
  const isDriven = async () => {
    const found = await ask(cluster, "GET", `/${name}`);
    if (found?.status === 404) {
      await ask(cluster, "POST", "/start?sync=true", { key: name, attributes: { trip: name } });
    }
    if (found?.status !== 200) return false;
    const transition = until(found.body);
    if (transition === undefined) return true;
    if (transition !== "") {
      // Each node gets both kinds.
      const sync = (cluster.turn >> 1) % 2 === 0;
      await ask(cluster, "PATCH", `/${name}/transitions/${transition}?sync=${sync}`, {});
    }
    return false;
  };
  while (!(await isDriven())) await sleep(30);
}

const toHome = ({ metadata: { status, currentState, effectiveState } }: Trip) => {
  if (currentState === "home") return undefined;
  if (status === "A" && currentState === "open") return "travel";
  return effectiveState === "waiting" ? "leave" : "";
};

const toStop = (trip: Trip) => {
  const transition = toHome(trip);
  return transition === "leave" ? undefined : transition;
};

const toAbandoned = (trip: Trip) => {
  const { status, effectiveState } = trip.metadata;
  if (status === "C") return undefined;
  return effectiveState === "waiting" ? "abandon" : toHome(trip);
};

const named = (name: string, count = tripsAtOnce) =>
  Array.from({ length: count }, (_, i) => `${name}-${i}`);

/** The armed node dies, and another is started in its place. */
async function replaceDead(cluster: Cluster, victim: NodeProcess): Promise<void> {
  expect(await victim.exited).toEqual({ code: null, signal: "SIGKILL" });
  cluster.alive.splice(cluster.alive.indexOf(victim), 1);
  // Where everybody is dead, nobody waits until a heartbeat is missed.
  if (cluster.alive.length === 0) await rowsOf(cluster.databaseUrl, "delete from node");
  cluster.alive.push(await cluster.start());
}

async function expectQuiet({ databaseUrl }: Cluster) {
  await eventually(async () => expect(await unfinished(databaseUrl)).toEqual([]));
  expect(await auditOf(databaseUrl)).toEqual([]);
}

describe.each([1, 2])("one of %i node(s) is killed", (nodeCount) => {
  test.concurrent(
    "while children start and end: each starts once, and its end is applied once",
    { timeout: 900_000 },
    async ({ onTestFinished }) => {
      const cluster = await startCluster(nodeCount, onTestFinished);
      for (const [point, pass] of points) {
        const victim = cluster.alive[0]!;
        victim.arm(`${point}:${Math.ceil(pass / nodeCount)}`);

        const replaced = replaceDead(cluster, victim);
        const names: string[] = [];
        do {
          const wave = named(`${point}-${pass}-${names.length}`);
          names.push(...wave);
          await Promise.all(wave.map((name) => drive(cluster, name, toHome)));
        } while (cluster.alive.includes(victim));
        await replaced;

        await expectQuiet(cluster);
        expect([point, await wrongTrips(cluster.databaseUrl, names)]).toEqual([point, []]);
      }
    },
  );

  test.concurrent(
    "while parents are cancelled: their children are too, once",
    { timeout: 900_000 },
    async ({ onTestFinished }) => {
      const cluster = await startCluster(nodeCount, onTestFinished);
      for (const point of cancelPoints) {
        const names = named(`cancelled-${point}`);
        await Promise.all(names.map((name) => drive(cluster, name, toStop)));
        const victim = cluster.alive[0]!;
        victim.arm(`${point}:${nodeCount === 1 ? 4 : 2}`);

        const replaced = replaceDead(cluster, victim);
        await Promise.all(names.map((name) => drive(cluster, name, toAbandoned)));
        // The other node may have done them nearly all.
        while (cluster.alive.includes(victim)) {
          const wave = named(`cancelled-${point}-${names.length}`);
          names.push(...wave);
          await Promise.all(wave.map((name) => drive(cluster, name, toAbandoned)));
        }
        await replaced;

        await expectQuiet(cluster);
        expect([point, await wrongAbandoned(cluster.databaseUrl, names)]).toEqual([point, []]);
      }
    },
  );
});

test(
  "the node that ends a child dies, the one that takes over dies before the parent goes on: a third does it, once",
  { timeout: 300_000 },
  async ({ onTestFinished }) => {
    const cluster = await startCluster(2, onTestFinished);
    const names = named("third", 1);
    await drive(cluster, names[0]!, toStop);
    const [first, second] = cluster.alive as [NodeProcess, NodeProcess];
    first.arm("after-settle-write");
    second.arm("before-resume");

    cluster.alive.splice(1, 1);
    await ask(cluster, "PATCH", `/${names[0]}/transitions/leave?sync=false`, {});
    expect(await first.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(await second.exited).toEqual({ code: null, signal: "SIGKILL" });
    cluster.alive[0] = await cluster.start();

    await drive(cluster, names[0]!, toHome);
    await expectQuiet(cluster);
    expect(await wrongTrips(cluster.databaseUrl, names)).toEqual([]);
  },
);

test(
  "a parent is cancelled before its child is there, by a node that dies of it: the child is not started, and nothing is left to do",
  { timeout: 300_000 },
  async ({ onTestFinished }) => {
    const cluster = await startCluster(1, onTestFinished);
    const { databaseUrl, alive } = cluster;
    const [first] = alive as [NodeProcess];
    await ask(cluster, "POST", "/start?sync=true", { key: "early", attributes: { trip: "early" } });
    first.arm("before-child-start");
    await ask(cluster, "PATCH", "/early/transitions/travel?sync=true", {});
    expect(await first.exited).toEqual({ code: null, signal: "SIGKILL" });

    // It does what it is asked for, and takes nothing over.
    const second = await cluster.start({ NODE_ROLES: "api" });
    alive[0] = second;
    second.arm("after-settle-write");
    await ask(cluster, "PATCH", "/early/transitions/abandon?sync=true", {});
    expect(await second.exited).toEqual({ code: null, signal: "SIGKILL" });
    alive[0] = await cluster.start();

    await expectQuiet(cluster);
    expect(
      await rowsOf(databaseUrl, "select flow, status::text, current_state as state from instance"),
    ).toEqual([{ flow: "trip", status: "C", state: "abandoned" }]);
  },
);

test(
  "50 children end at once on a node that is paused in the middle: the other goes on with the parents, and nothing is applied twice when it wakes up",
  { timeout: 300_000 },
  async ({ onTestFinished }) => {
    const cluster = await startCluster(2, onTestFinished);
    const { databaseUrl, alive } = cluster;
    const names = named("race", 50);
    await Promise.all(names.map((name) => drive(cluster, name, toStop)));
    const [paused, other] = alive as [NodeProcess, NodeProcess];
    alive.splice(1, 1);

    const leaving = names.map((name) =>
      ask(cluster, "PATCH", `/${name}/transitions/leave?sync=false`, {}),
    );
    await eventually(async () => {
      const over = "select 1 from instance where flow = 'stop' and status = 'C'";
      expect((await rowsOf(databaseUrl, over)).length).toBeGreaterThan(5);
    });
    paused.signal("SIGSTOP");
    alive[0] = other;
    const underWay = `select 1 from job where kind in ('tx', 'rs') union all
      select 1 from instance where flow = 'stop' and status = 'B'`;
    await eventually(async () => expect(await rowsOf(databaseUrl, underWay)).toEqual([]));
    paused.signal("SIGCONT");
    await Promise.all(leaving);

    await Promise.all(names.map((name) => drive(cluster, name, toHome)));
    await expectQuiet(cluster);
    expect(await wrongTrips(databaseUrl, names)).toEqual([]);
  },
);
