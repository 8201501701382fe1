/** Lists in a flow of a thousand instances and in one of many: what growth costs. */
import { Client } from "pg";
import { domain, publish, state, workflow } from "./components.ts";
import { median, percentile, rows, table } from "./figures.ts";
import type { Subject } from "./subject.ts";

const small = 1000;
const samples = 30;

const queries: [name: string, query: string][] = [
  ["first page", ""],
  ["page 100", "page=100"],
  ["status", `filter=${encodeURIComponent('{"status":{"eq":"F"}}')}`],
  ["state", `filter=${encodeURIComponent('{"currentState":{"eq":"rare"}}')}`],
  ["key", `filter=${encodeURIComponent('{"key":{"eq":"key-500"}}')}`],
  ["data, rare value", `filter=${encodeURIComponent('{"attributes":{"serial":{"eq":500}}}')}`],
  ["data, common value", `filter=${encodeURIComponent('{"attributes":{"kind":{"eq":"k1"}}}')}`],
];

export async function lists(subject: Subject): Promise<void> {
  const client = new Client({ connectionString: subject.databaseUrl });
  await client.connect();
  for (const [flow, count] of [
    ["small", small],
    ["large", rows],
  ] as const) {
    await publish(subject, workflow(flow, [state("s0", 1)]));
    await fill(client, flow, count);
  }
  await client.query("vacuum analyze instance");
  const lines: (string | number)[][] = [];
  for (const [name, query] of queries) {
    const [a, b] = [await timesOf(subject, "small", query), await timesOf(subject, "large", query)];
    lines.push([
      name,
      median(a).toFixed(2),
      median(b).toFixed(2),
      percentile(b, 0.95).toFixed(2),
      (median(b) / median(a)).toFixed(1),
    ]);
  }
  table(["list", `p50 ms of ${small}`, `p50 ms of ${rows}`, "p95 ms", "growth"], lines);
  await client.end();
}

/** One in a thousand has failed and stands in the rare state; documents are about 1 KB. */
async function fill(client: Client, flow: string, count: number): Promise<void> {
  await client.query(
    `insert into instance (id, domain, flow, key, flow_version, status, rev, current_state,
       current_state_type, current_state_sub_type, effective_state, effective_state_type,
       effective_state_sub_type, data, data_version, entity_etag, created_at)
     select gen_random_uuid(), $1, $2, 'key-' || n, '1.0.0', case when n % 1000 = 0 then 'F' else 'A' end,
       1, state, 2, 0, state, 2, 0,
       jsonb_build_object('serial', n, 'kind', 'k' || n % 10, 'text', repeat(md5(n::text), 28)),
       '1.0.0', '01M7EM8S215PFD5VZM48E9HVWV', now() - make_interval(secs => $3 - n)
     from (select n, case when n % 1000 = 0 then 'rare' else 's0' end as state
       from generate_series(1, $3::int) n) rows`,
    [domain, flow, count],
  );
}

async function timesOf({ url }: Subject, flow: string, query: string): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < samples + 5; i += 1) {
    const start = performance.now();
    const answer = await fetch(
      `${url}/api/v1/${domain}/workflows/${flow}/instances?pageSize=20&${query}`,
    );
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(text);
    if (i >= 5) times.push(performance.now() - start);
  }
  return times;
}
