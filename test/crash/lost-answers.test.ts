import { expect, onTestFinished, test } from "vitest";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startClients, type Asked } from "./clients.ts";
import { startDatabaseProxy } from "./database-proxy.ts";
import { startEffects } from "./effects.ts";
import { everyStep, journey } from "./journey.ts";
import { startNode } from "./node-process.ts";
import { auditOf, brokenPromises, unfinished } from "./promises.ts";
import { publish } from "./publish.ts";

test(
  "writes whose answers are lost are neither repeated nor forgotten",
  { timeout: 300_000 },
  async () => {
    const { url, drop } = await createDatabase();
    onTestFinished(drop);
    const atEnd = onTestFinished;
    const effects = await startEffects(atEnd);
    const proxy = await startDatabaseProxy(url, atEnd);
    const node = await startNode({ databaseUrl: proxy.url, effectUrl: effects.url, atEnd });
    await publish(node.url, journey);
    const urls = () => [node.url];
    const clients = startClients({ name: "client", count: 12, urls, steps: everyStep, atEnd });

    // In the middle of things each time: some have been done since, others are under way.
    for (let i = 0; i < 20 || !isRefused(clients.asked); i += 1) {
      const before = done(clients.asked);
      await eventually(() => expect(done(clients.asked)).toBeGreaterThan(before + 6));
      await proxy.loseAnswers();
    }

    await clients.stop();
    await eventually(async () => expect(await unfinished(url)).toEqual([]));
    expect(new Set(clients.asked.map(({ status }) => status))).toEqual(new Set([200, 202, 503]));
    expect(await brokenPromises(url, clients.asked, effects)).toEqual([]);
    expect(await auditOf(url)).toEqual([]);
  },
);

const done = (asked: readonly Asked[]) =>
  asked.filter(({ status }) => status === 200 || status === 202).length;
const isRefused = (asked: readonly Asked[]) => asked.some(({ status }) => status === 503);
