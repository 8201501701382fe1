/** Nodes hear each other as soon as they listen, which is a moment after they have started. */
import { Client } from "pg";
import { expect } from "vitest";
import { changesChannel } from "../../src/storage/postgres/announce-changes.ts";
import { eventually } from "./eventually.ts";

/** Waits until this many nodes of the database hear what is said on every channel. */
export async function untilListening(databaseUrl: string, nodes: number): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await eventually(async () => {
      // The last of the channels that a node asks for.
      const { rows } = await client.query(
        `select from pg_stat_activity where datname = current_database()
           and application_name = 'millrace-listen' and state = 'idle' and query = $1`,
        [`listen ${changesChannel}`],
      );
      expect(rows).toHaveLength(nodes);
    });
  } finally {
    await client.end();
  }
}
