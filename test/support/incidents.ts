import { Client } from "pg";
import { afterAll } from "vitest";

export interface IncidentRow {
  state: string;
  transition: string;
  task: string | null;
  message: string;
  error_code: string;
  error_layer: string;
}

/** Reads incidents from the table; called at the top of a file, it closes with the file's tests. */
export async function openIncidents(databaseUrl: string) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  afterAll(() => client.end());
  return async (instanceId: string): Promise<IncidentRow[]> => {
    const { rows } = await client.query<IncidentRow>(
      `select state, transition, task, message, error_code, error_layer
         from incident where instance_id = $1 order by number`,
      [instanceId],
    );
    return rows;
  };
}
