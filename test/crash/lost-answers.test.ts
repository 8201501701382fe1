import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startClients } from "./clients.ts";
import { startDatabaseProxy } from "./database-proxy.ts";
import { startEffects } from "./effects.ts";
import { everyStep, journey } from "./journey.ts";
import { startNode } from "./node-process.ts";
import { auditOf, brokenPromises, unfinished } from "./promises.ts";
import { publish } from "./publish.ts";

test(
  "writes whose answers are lost are neither repeated nor forgotten",
  { timeout: 90_000 },
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

    for (let i = 0; i < 20; i += 1) {
      await sleep(150);
      await proxy.loseAnswers();
    }

    await clients.stop();
    // After much trouble an attempt waits up to five seconds, and a job in doubt is spared for three.
    await eventually(async () => expect(await unfinished(url)).toEqual([]), { withinMs: 30_000 });
    expect(new Set(clients.asked.map(({ status }) => status))).toEqual(new Set([200, 202, 503]));
    expect(await brokenPromises(url, clients.asked, effects)).toEqual([]);
    expect(await auditOf(url)).toEqual([]);
  },
);
