/**
 * The reference: pgbench running the transition's own two statements on the same server, on the same
 * tables in a database of their own. What it reaches is what the database can do with a C client
 * and no application.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { migrate } from "../src/storage/postgres/migrate.ts";
import { payload } from "./subject.ts";

const run = promisify(execFile);

export interface Pgbench {
  perSecond(clients: number, seconds: number): Promise<number>;
  close(): Promise<void>;
}

const script = (document: string) => `
\\set i random(100000000000, 100000009999)
select id, domain, flow, key, flow_version, status, rev, last_seq, current_state, current_state_type,
  current_state_sub_type, effective_state, effective_state_type, effective_state_sub_type, stage, tags,
  data::text, data_version, entity_etag, created_at, created_by, created_by_behalf_of, modified_at,
  modified_by, modified_by_behalf_of, completed_at, incident_count, has_active_incident
  from instance where id = ('00000000-0000-4000-8000-' || :i)::uuid;
with done as (
  update instance set status = 'A', rev = rev + 1, last_seq = last_seq + 1, current_state = 's1',
    effective_state = 's1', data = '${document}'::jsonb, data_version = '1.1.0',
    entity_etag = '01M7EM8S215PFD5VZM48E9HVWV', modified_at = now()
  where id = ('00000000-0000-4000-8000-' || :i)::uuid and rev >= 0 returning id, last_seq)
insert into transition_record (instance_id, seq, id, transition_key, from_state, to_state,
  effective_state, effective_state_type, effective_state_sub_type, trigger_type, started_at,
  finished_at, body, data_version, entity_etag, header)
select id, last_seq, gen_random_uuid(), 'approve', 's0', 's1', 's1', 2, 0, 0, now(), now(),
  '${document}', '1.1.0', '01M7EM8S215PFD5VZM48E9HVWV', '{"host":"localhost"}' from done;
`;

/** Undefined where pgbench is not installed. */
export async function openPgbench(serverUrl: string): Promise<Pgbench | undefined> {
  try {
    await run("pgbench", ["--version"]);
  } catch {
    return undefined;
  }
  const url = new URL(serverUrl);
  url.pathname = "/bench_reference";
  const admin = new Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query("create database bench_reference");
  await admin.end();
  await migrate(url.href);
  const document = JSON.stringify((JSON.parse(payload()) as { attributes: object }).attributes);
  const client = new Client({ connectionString: url.href });
  await client.connect();
  await client.query(
    `insert into instance (id, domain, flow, flow_version, status, rev, current_state,
       current_state_type, current_state_sub_type, effective_state, effective_state_type,
       effective_state_sub_type, data, data_version, entity_etag, created_at)
     select ('00000000-0000-4000-8000-' || n)::uuid, 'bench', 'approval', '1.0.0', 'A', 0, 's0', 1, 0,
       's0', 1, 0, $1::jsonb, '1.0.0', '01M7EM8S215PFD5VZM48E9HVWV', now()
     from generate_series(100000000000, 100000009999) n`,
    [document],
  );
  const folder = await mkdtemp(join(tmpdir(), "millrace-pgbench-"));
  const file = join(folder, "transition.sql");
  await writeFile(file, script(document));

  return {
    async perSecond(clients, seconds) {
      const args = ["-n", "-M", "prepared", "-c", String(Math.min(clients, 64)), "-j", "2"];
      const { stdout } = await run("pgbench", [...args, "-T", String(seconds), "-f", file], {
        env: {
          ...process.env,
          PGHOST: url.hostname,
          PGPORT: url.port,
          PGUSER: decodeURIComponent(url.username),
          PGPASSWORD: decodeURIComponent(url.password),
          PGDATABASE: "bench_reference",
        },
      });
      const tps = /tps = ([\d.]+) \(without/.exec(stdout) ?? /tps = ([\d.]+)/.exec(stdout);
      return Number(tps![1]);
    },
    async close() {
      await client.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
