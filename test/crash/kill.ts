/**
 * kill -9 of a node exactly at a fault point, with every kind of work under way: one lane kills at
 * one point after the other, and checks after each that nothing is lost or done twice.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { faultPoints, type FaultPointName } from "../../src/runtime/fault-point.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import type { AtEnd } from "./at-end.ts";
import { startClients } from "./clients.ts";
import { startEffects } from "./effects.ts";
import { everyStep, journey } from "./journey.ts";
import { startNode, type NodeProcess } from "./node-process.ts";
import { auditOf, brokenPromises, unfinished } from "./promises.ts";
import { publish } from "./publish.ts";

const laneCount = 3;

/** Of subflows and retries; `kill-subflows.test.ts` and `kill-retries.test.ts` kill there. */
const elsewhere: readonly FaultPointName[] = [
  "before-child-start",
  "before-resume",
  "before-retry-write",
  "after-retry-write",
];
const onTheJourney = faultPoints.filter((point) => !elsewhere.includes(point));

/** Every fault point of the journey, in lanes that run side by side. */
export const lanes = Array.from({ length: laneCount }, (_, lane) => {
  const points = onTheJourney.filter((_point, i) => i % laneCount === lane);
  return { points, title: points.join(", ") };
});

export async function killAtEach(
  points: readonly FaultPointName[],
  nodeCount: 1 | 2,
  atEnd: AtEnd,
): Promise<void> {
  const { url: databaseUrl, drop } = await createDatabase();
  atEnd(drop);
  const effects = await startEffects(atEnd);
  const start = () => startNode({ databaseUrl, effectUrl: effects.url, atEnd });
  let alive: NodeProcess[] = await Promise.all(Array.from({ length: nodeCount }, start));
  await publish(alive[0]!.url, journey);

  for (const [i, point] of points.entries()) {
    const clients = startClients({
      name: point,
      count: 4,
      urls: () => alive.map((node) => node.url),
      steps: everyStep,
      atEnd,
    });
    await eventually(() => expect(clients.asked.length).toBeGreaterThan(15));
    const [victim, ...others] = alive as [NodeProcess, ...NodeProcess[]];
    victim.arm(`${point}:${1 + (i % 3)}`);
    const end = await Promise.race([victim.exited, sleep(120_000, "still alive")]);
    expect([point, end]).toEqual([point, { code: null, signal: "SIGKILL" }]);

    alive = others;
    const successor = start();
    if (nodeCount === 1) alive = [await successor];
    await clients.stop();
    await eventually(async () =>
      expect([point, await unfinished(databaseUrl)]).toEqual([point, []]),
    );

    const broken = await brokenPromises(databaseUrl, clients.asked, effects);
    expect([point, broken]).toEqual([point, []]);
    expect([point, await auditOf(databaseUrl)]).toEqual([point, []]);
    if (nodeCount === 2) alive = [...others, await successor];
  }
}
