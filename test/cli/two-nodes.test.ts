/** Two nodes on one database, as one cluster. */
import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { aDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { untilListening } from "../support/listening.ts";
import { startRuntime, type TestRuntime } from "../support/start-runtime.ts";

const note = (version: string) => ({
  key: "note",
  flow: "sys-tasks",
  domain: "cluster",
  version,
  flowVersion: "1.0.0",
  tags: [],
  attributes: { type: "7", config: { version } },
});

/** The latest version as the node knows it; one it has never heard of would make it ask. */
async function latest(node: TestRuntime): Promise<string> {
  const { body } = await node.get("/api/v1/cluster/workflows/sys-tasks/instances/note");
  return (body as { attributes: { config: { version: string } } }).attributes.config.version;
}

async function twoNodes() {
  const databaseUrl = await aDatabase();
  const one = await startRuntime({ databaseUrl });
  const other = await startRuntime({ databaseUrl });
  await untilListening(databaseUrl, 2);
  await one.publish(note("1.0.0"));
  await eventually(async () => expect(await latest(other)).toBe("1.0.0"));
  return { databaseUrl, one, other };
}

test("what one node publishes, the other knows at once", async () => {
  // Nobody looks for themselves then.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { one, other } = await twoNodes();

  await one.publish(note("1.1.0"));

  await eventually(async () => expect(await latest(other)).toBe("1.1.0"));
});

test("what is published while a node cannot hear is known to it soon", async () => {
  const { databaseUrl, one, other } = await twoNodes();

  await deafen(databaseUrl);
  await one.publish(note("1.1.0"));

  await eventually(async () => expect(await latest(other)).toBe("1.1.0"));
  await one.publish(note("1.2.0"));
  await eventually(async () => expect(await latest(other)).toBe("1.2.0"));
});

/** Ends the connections on which nodes listen, and waits until they are gone. */
async function deafen(databaseUrl: string): Promise<void> {
  const client = new Client(databaseUrl);
  await client.connect();
  const { rows } = await client.query(
    `select pg_terminate_backend(pid, 60000) as gone from pg_stat_activity
     where datname = current_database() and application_name = 'millrace-listen'`,
  );
  await client.end();
  expect(rows).toEqual([{ gone: true }, { gone: true }]);
}
