import * as fc from "fast-check";
import { Client, type QueryResultRow } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  parseInstanceQuery,
  type RawInstanceQuery,
} from "../../src/engine/instance-query/instance-query.ts";
import {
  instanceGroupJson,
  instanceGroupsSql,
  type InstanceGroupRow,
} from "../../src/storage/postgres/instance-groups-sql.ts";
import {
  instanceListSql,
  type ProbeLimits,
  type SqlStatement,
} from "../../src/storage/postgres/instance-list-sql.ts";
import { validInstanceQuery } from "../support/any-instance-query.ts";
import { createDatabase, type TestDatabase } from "../support/database.ts";

const scope = { domain: "core", flow: "order" };

const schema = `
  create table instance (
    id uuid primary key, domain text not null, flow text not null, key text, flow_version text,
    status "char" not null, current_state text, current_state_type smallint,
    current_state_sub_type smallint, effective_state text, effective_state_type smallint,
    effective_state_sub_type smallint, stage text, tags text[], data jsonb, data_version text,
    entity_etag text, created_at timestamptz not null, modified_at timestamptz,
    completed_at timestamptz, created_by text, created_by_behalf_of text, modified_by text,
    modified_by_behalf_of text, seq bigint, is_transient boolean not null default false);
  create index instance_list on instance (domain, flow, created_at desc, id desc);
  create index instance_data on instance using gin (data jsonb_path_ops);
  create index instance_key on instance (domain, flow, key);
  create index instance_status on instance (domain, flow, status, created_at desc, id desc);`;

interface TestRow {
  name: string;
  data?: string;
  status?: string;
  state?: string;
  effective?: string;
  type?: number;
  subType?: number;
  stage?: string;
  created?: string;
  completed?: string;
  createdBy?: string;
  transient?: boolean;
  key?: null;
}

/** Each row is there for a question below; `data` is JSON text, so numbers are stored as written. */
const rows: TestRow[] = [
  { name: "ankara", data: '{"city":"Ankara","amount":100,"when":"2026-01-10"}' },
  { name: "istanbul", data: '{"city":"İstanbul","amount":250.50,"when":"2026-01-20T12:00:00Z"}' },
  { name: "izmir", data: '{"city":"izmir","amount":99,"when":"2026-01-20T12:00:00+03:00"}' },
  { name: "percent", data: '{"city":"100%_sure\\\\","amount":"100"}' },
  { name: "plain", data: '{"city":"100 not sure","amount":null}' },
  { name: "big", data: '{"amount":9007199254740993,"when":"2026-02-30"}' },
  { name: "bigger", data: '{"amount":9007199254740994,"when":"not a date"}' },
  { name: "exact", data: '{"amount":0.10,"flag":true}' },
  { name: "list", data: '{"city":["Ankara"],"amount":[100,500],"flag":"true"}' },
  { name: "object", data: '{"city":{"name":"Ankara"},"amount":{"value":100}}' },
  { name: "nested", data: '{"address":{"city":"Ankara","zip":"06100","floor":3}}' },
  { name: "lines", data: '{"lines":[{"code":"A","qty":1},{"code":"B","qty":2}]}' },
  { name: "lines2", data: '{"lines":[{"code":"A","qty":2}]}' },
  { name: "empty", data: "{}" },
  { name: "nodata" },
  { name: "busy", status: "B", state: "review", effective: "child", type: 4, subType: 5 },
  { name: "done", status: "C", state: "end", type: 3, subType: 1, completed: "2026-01-15T00:00Z" },
  { name: "gone", status: "C", state: "end", type: 3, subType: 7, completed: "2026-01-16T00:00Z" },
  { name: "failed", status: "F", stage: "KYC", createdBy: "ayse" },
  { name: "passive", status: "P", stage: "kyc-2", createdBy: "mehmet" },
  { name: "old", created: "2025-06-01T10:00:00.123456Z" },
  { name: "older", created: "2025-06-01T10:00:00.123455Z" },
  { name: "transient", transient: true },
  { name: "keyless", key: null },
];
const fillers = Array.from({ length: 12 }, (_, index) => ({
  name: `rank${index}`,
  data: JSON.stringify({ rank: Math.floor(index / 4) + 1, kind: index % 2 === 0 ? "even" : "odd" }),
}));
const all: TestRow[] = [...rows, ...fillers];
const idOf = (index: number) => `0190a5b1-0000-7000-8000-${String(index).padStart(12, "0")}`;
const nameById = new Map(all.map(({ name }, index) => [idOf(index), name]));
const names = (...wanted: string[]) =>
  all.map(({ name }) => name).filter((n) => wanted.includes(n));
const others = (...unwanted: string[]) =>
  all.map(({ name }) => name).filter((n) => !unwanted.includes(n));

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await createDatabase({ empty: true });
  client = new Client({ connectionString: database.url });
  await client.connect();
  // Not UTC, so that nothing can depend on the session's zone.
  await client.query("set time zone 'America/New_York'");
  await client.query(schema);
  for (const [index, row] of all.entries()) await insert(row, index, "core", "order");
  // Rows that no question may ever reach.
  await insert({ name: "ankara", data: '{"city":"Ankara"}' }, 50, "core", "invoice");
  await insert({ name: "ankara", data: '{"city":"Ankara"}' }, 51, "other", "order");
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

async function insert(row: TestRow, index: number, domain: string, flow: string): Promise<void> {
  const state = row.state ?? "start";
  await client.query(
    `insert into instance (id, domain, flow, key, status, current_state, current_state_type,
       current_state_sub_type, effective_state, effective_state_type, effective_state_sub_type,
       stage, data, created_at, completed_at, created_by, is_transient)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $7, $8, $10, $11, $12, $13, $14, $15)`,
    [
      idOf(index),
      domain,
      flow,
      row.key === null ? null : row.name,
      row.status ?? "A",
      state,
      row.type ?? 1,
      row.subType ?? 0,
      row.effective ?? state,
      row.stage,
      row.data,
      row.created ?? `2026-01-01T00:${String(index).padStart(2, "0")}:00Z`,
      row.completed,
      row.createdBy,
      row.transient ?? false,
    ],
  );
}

function accepted(raw: RawInstanceQuery) {
  const parsed = parseInstanceQuery(raw);
  if (!("query" in parsed)) throw new Error(JSON.stringify(parsed.reasons));
  return parsed.query;
}

const run = async <R extends QueryResultRow>(statement: SqlStatement): Promise<R[]> =>
  (await client.query<R>(statement.text, statement.values)).rows;

async function list(raw: RawInstanceQuery): Promise<string[]> {
  const found = await run<{ id: string }>(instanceListSql(accepted(raw), scope, "i.id"));
  return found.map(({ id }) => nameById.get(id) ?? `foreign ${id}`);
}

/** The names that match, in the order of the rows above. */
async function matching(filter: string): Promise<string[]> {
  return names(...(await list({ filter, pageSize: "100" })));
}

async function groups(raw: RawInstanceQuery): Promise<unknown[]> {
  const query = accepted(raw);
  if (query.grouping === undefined) throw new Error("not grouped");
  const found = await run<InstanceGroupRow & QueryResultRow>(
    instanceGroupsSql(query, query.grouping, scope),
  );
  return found.map((row) => JSON.parse(instanceGroupJson(row)) as unknown);
}

describe("data operators find exactly", () => {
  const numbers = ["ankara", "istanbul", "izmir", "big", "bigger", "exact"];
  test.each<[string, string[]]>([
    ['{"city":{"eq":"Ankara"}}', ["ankara"]],
    ['{"amount":{"eq":100}}', ["ankara"]],
    ['{"amount":{"eq":"100"}}', ["percent"]],
    ['{"amount":{"eq":1e2}}', ["ankara"]],
    ['{"amount":{"eq":250.5}}', ["istanbul"]],
    ['{"amount":{"eq":9007199254740993}}', ["big"]],
    ['{"amount":{"eq":0.1}}', ["exact"]],
    ['{"flag":{"eq":true}}', ["exact"]],
    ['{"flag":{"eq":"true"}}', ["list"]],
    ['{"amount":{"ne":100}}', others("ankara")],
    ['{"amount":{"in":[100,"100",99]}}', ["ankara", "izmir", "percent"]],
    ['{"amount":{"in":"100,99"}}', ["ankara", "izmir", "percent"]],
    ['{"amount":{"nin":[100,99]}}', others("ankara", "izmir")],
    ['{"amount":{"gt":100}}', ["istanbul", "big", "bigger"]],
    ['{"amount":{"ge":100}}', ["ankara", "istanbul", "big", "bigger"]],
    ['{"amount":{"gt":9007199254740993}}', ["bigger"]],
    ['{"amount":{"lt":100}}', ["izmir", "exact"]],
    ['{"amount":{"le":0.10}}', ["exact"]],
    ['{"amount":{"gt":"99"}}', ["ankara", "istanbul", "big", "bigger"]],
    ['{"amount":{"between":[99,100]}}', ["ankara", "izmir"]],
    ['{"amount":{"gt":-1e300}}', numbers],
    ['{"when":{"gt":"2026-01-10"}}', ["istanbul", "izmir"]],
    ['{"when":{"ge":"2026-01-10T00:00Z"}}', ["ankara", "istanbul", "izmir"]],
    ['{"when":{"lt":"2026-01-20T12:00:00Z"}}', ["ankara", "izmir"]],
    ['{"when":{"le":"2026-01-20T09:00:00Z"}}', ["ankara", "izmir"]],
    ['{"when":{"between":["2026-01-10","2026-01-20T09:00:00Z"]}}', ["ankara", "izmir"]],
    ['{"city":{"like":"ANK"}}', ["ankara"]],
    ['{"city":{"match":"nkar"}}', ["ankara"]],
    ['{"city":{"like":"%"}}', ["percent"]],
    ['{"city":{"like":"0%_s"}}', ["percent"]],
    ['{"city":{"like":"_"}}', ["percent"]],
    [String.raw`{"city":{"endswith":"\\"}}`, ["percent"]],
    ['{"city":{"startswith":"100"}}', ["percent", "plain"]],
    ['{"city":{"endswith":"SURE"}}', ["plain"]],
    ['{"amount":{"like":"250.5"}}', ["istanbul"]],
    ['{"amount":{"isNull":false}}', [...numbers, "percent", "list", "object"]],
    ['{"address.city":{"eq":"Ankara"}}', ["nested"]],
    ['{"address":{"city":{"startswith":"ank"},"floor":{"ge":3}}}', ["nested"]],
    ['{"address":{"isNull":false}}', ["nested"]],
    ['{"lines":{"includes":{"code":"A"}}}', ["lines", "lines2"]],
    ['{"lines":{"includes":{"code":"A","qty":2}}}', ["lines2"]],
    ['{"not":{"lines":{"includes":{"code":"A"}}}}', others("lines", "lines2")],
  ])("%s", async (filter, expected) => {
    expect(await matching(filter)).toEqual(names(...expected));
  });

  test("isNull is true of null and of missing values", async () => {
    const present = [...numbers, "percent", "list", "object"];
    expect(await matching('{"amount":{"isNull":true}}')).toEqual(others(...present));
  });

  test("not is the exact complement, also where the value is missing", async () => {
    const some = await matching('{"amount":{"gt":100}}');
    expect(await matching('{"not":{"amount":{"gt":100}}}')).toEqual(others(...some));
  });
});

describe("columns find exactly", () => {
  test.each<[string, string[]]>([
    ['{"status":{"eq":"Busy"}}', ["busy"]],
    ['{"status":{"in":["c","Faulted"]}}', ["done", "gone", "failed"]],
    ['{"status":{"ne":"A"}}', ["busy", "done", "gone", "failed", "passive"]],
    ['{"status":{"nin":["A","C"]}}', ["busy", "failed", "passive"]],
    ['{"state":{"eq":"child"}}', ["busy"]],
    ['{"currentState":{"in":["review","end"]}}', ["busy", "done", "gone"]],
    ['{"effectiveStateType":{"eq":"finish"}}', ["done", "gone"]],
    ['{"stateType":{"gt":3}}', ["busy"]],
    ['{"currentStateSubType":{"eq":"cancelled"}}', ["gone"]],
    ['{"stateSubType":{"between":["error",9]}}', ["busy", "gone"]],
    ['{"stage":{"startswith":"kyc"}}', ["failed", "passive"]],
    ['{"stage":{"eq":"KYC"}}', ["failed"]],
    ['{"stage":{"ne":"KYC"}}', others("failed")],
    ['{"stage":{"nin":["KYC","x"]}}', others("failed")],
    ['{"stage":{"isNull":false}}', ["failed", "passive"]],
    ['{"key":{"isNull":true}}', ["keyless"]],
    ['{"key":{"lt":"b"}}', ["ankara"]],
    ['{"key":{"between":["done","exact"]}}', ["exact", "empty", "done"]],
    ['{"createdBy":{"like":"SE"}}', ["failed"]],
    ['{"createdAt":{"lt":"2026-01-01"}}', ["old", "older"]],
    ['{"createdAt":{"eq":"2025-06-01T10:00:00.123456Z"}}', ["old"]],
    ['{"createdAt":{"le":"2025-06-01T13:00:00.123455+03:00"}}', ["older"]],
    ['{"completedAt":{"between":["2026-01-15","2026-01-15T23:59:59Z"]}}', ["done"]],
    ['{"completedAt":{"isNull":false}}', ["done", "gone"]],
    ['{"isTransient":{"eq":true}}', ["transient"]],
    [`{"id":{"eq":"${idOf(3).toUpperCase()}"}}`, ["percent"]],
    [`{"id":{"endswith":"00003"}}`, ["percent"]],
    ['{"flow":{"eq":"invoice"}}', []],
    ['{"or":[{"status":{"eq":"B"}},{"amount":{"eq":99}}]}', ["izmir", "busy"]],
    [
      '{"and":[{"status":{"eq":"A"}},{"amount":{"ge":100}},{"city":{"ne":"Ankara"}}]}',
      ["istanbul", "big", "bigger"],
    ],
    [
      '{"not":{"or":[{"status":{"eq":"A"}},{"stage":{"eq":"KYC"}}]}}',
      ["busy", "done", "gone", "passive"],
    ],
  ])("%s", async (filter, expected) => {
    expect(await matching(filter)).toEqual(names(...expected));
  });
});

describe("the legacy form finds", () => {
  test.each<[string, string[]]>([
    ["status=eq:Completed", ["done", "gone"]],
    ["attributes=amount=eq:100", ["ankara", "percent"]],
    ["attributes=amount=ne:100", others("ankara", "percent")],
    ["attributes=amount=between:99,100", ["ankara", "izmir"]],
    ["city=in:Ankara, izmir", ["ankara", "izmir"]],
    ["flag=eq:true", ["exact", "list"]],
    ["address.zip=eq:06100", ["nested"]],
  ])("%s", async (filter, expected) => {
    expect(await matching(filter)).toEqual(names(...expected));
  });
});

describe("order", () => {
  const ranked = '{"attributes":{"rank":{"isNull":false}}}';
  const inOrder = async (sort: object, filter = ranked) =>
    await list({ filter, sort: JSON.stringify(sort), pageSize: "100" });
  const rankNames = fillers.map(({ name }) => name);

  test("is newest first by default", async () => {
    expect(await list({ filter: ranked, pageSize: "3" })).toEqual(
      rankNames.toReversed().slice(0, 4),
    );
  });

  test("equal values are ordered by ascending id, whatever the direction", async () => {
    expect(await inOrder({ field: "status", direction: "desc" })).toEqual(rankNames);
    expect(await inOrder({ field: "status" })).toEqual(rankNames);
    expect(await inOrder({ field: "id", direction: "desc" })).toEqual(rankNames.toReversed());
    expect(await inOrder({ field: "attributes.rank", direction: "desc" })).toEqual([
      ...rankNames.slice(8),
      ...rankNames.slice(4, 8),
      ...rankNames.slice(0, 4),
    ]);
  });

  test("several fields count in their order", async () => {
    const fields = [
      { field: "attributes.kind", direction: "desc" },
      { field: "attributes.rank", direction: "desc" },
      { field: "key" },
    ];
    expect(await inOrder({ fields })).toEqual(
      [11, 9, 5, 7, 1, 3, 10, 8, 4, 6, 0, 2].map((index) => `rank${index}`),
    );
  });

  test("numbers come as numbers, then other values as text, then missing ones", async () => {
    const filter = '{"key":{"in":["ankara","izmir","percent","plain","big","exact","object"]}}';
    expect(await inOrder({ field: "attributes.amount" }, filter)).toEqual([
      "exact",
      "izmir",
      "ankara",
      "big",
      "percent",
      "object",
      "plain",
    ]);
    expect(await inOrder({ field: "attributes.amount", direction: "desc" }, filter)).toEqual([
      "big",
      "ankara",
      "izmir",
      "exact",
      "object",
      "percent",
      "plain",
    ]);
  });

  test("text is ordered by code point and missing text comes last", async () => {
    const filter = '{"status":{"in":["F","P","B"]}}';
    expect(await inOrder({ field: "stage" }, filter)).toEqual(["failed", "passive", "busy"]);
    expect(await inOrder({ field: "stage", direction: "desc" }, filter)).toEqual([
      "passive",
      "failed",
      "busy",
    ]);
  });

  test.each([ranked, '{"attributes":{"rank":{"in":[1,2,3]}}}'])(
    "pages follow each other without a gap, and one row more tells of the next: %s",
    async (filter) => {
      const sort = '{"field":"attributes.rank","direction":"desc"}';
      const whole = await list({ filter, sort, pageSize: "100" });
      for (const [page, count] of [
        [1, 6],
        [2, 6],
        [3, 2],
        [4, 0],
      ] as const) {
        const found = await list({ filter, sort, page: String(page), pageSize: "5" });
        expect(found).toEqual(whole.slice((page - 1) * 5, (page - 1) * 5 + count));
      }
    },
  );
});

describe("groups", () => {
  test("are counted by default and ordered by their fields", async () => {
    expect(await groups({ groupBy: '{"field":"status"}' })).toEqual([
      { name: "A", keys: { status: "A" }, count: all.length - 5 },
      { name: "B", keys: { status: "B" }, count: 1 },
      { name: "C", keys: { status: "C" }, count: 2 },
      { name: "F", keys: { status: "F" }, count: 1 },
      { name: "P", keys: { status: "P" }, count: 1 },
    ]);
  });

  test("by data keep the value's type, join names, and sum up numbers only", async () => {
    const filter = '{"attributes":{"rank":{"le":2}}}';
    const groupBy = '{"fields":["attributes.rank","kind"]}';
    const aggregations =
      '{"count":"key","sum":"rank","avg":"attributes.rank","min":"rank","max":"kind"}';
    expect(await groups({ filter, groupBy, aggregations })).toEqual([
      {
        name: "1, even",
        keys: { "attributes.rank": 1, kind: "even" },
        count: 2,
        sum: 2,
        avg: 1,
        min: 1,
      },
      {
        name: "1, odd",
        keys: { "attributes.rank": 1, kind: "odd" },
        count: 2,
        sum: 2,
        avg: 1,
        min: 1,
      },
      {
        name: "2, even",
        keys: { "attributes.rank": 2, kind: "even" },
        count: 2,
        sum: 4,
        avg: 2,
        min: 2,
      },
      {
        name: "2, odd",
        keys: { "attributes.rank": 2, kind: "odd" },
        count: 2,
        sum: 4,
        avg: 2,
        min: 2,
      },
    ]);
  });

  test("without a value are one group, the last", async () => {
    const found = await groups({ groupBy: '{"field":"attributes.amount"}' });
    expect(found).toHaveLength(10);
    expect(found.at(-1)).toMatchObject({ name: "null", keys: { "attributes.amount": null } });
  });

  test("lose no digit", async () => {
    const query = accepted({
      filter: '{"key":{"in":["big","bigger"]}}',
      groupBy: '{"field":"status","aggregations":{"sum":"attributes.amount","max":"amount"}}',
    });
    if (query.grouping === undefined) throw new Error("not grouped");
    const [row] = await run<InstanceGroupRow & QueryResultRow>(
      instanceGroupsSql(query, query.grouping, scope),
    );
    expect(row && instanceGroupJson(row)).toBe(
      '{"name":"A","keys":{"status" : "A"},"sum":18014398509481987,"max":9007199254740994}',
    );
  });

  test("by columns speak the words of the wire", async () => {
    const filter = '{"status":{"in":["B","C"]}}';
    expect(await groups({ filter, groupBy: '{"fields":["stateType","completedAt"]}' })).toEqual([
      expect.objectContaining({
        keys: { effectiveStateType: "finish", completedAt: "2026-01-15T00:00:00.000000Z" },
      }),
      expect.objectContaining({ name: "finish, 2026-01-16T00:00:00.000000Z" }),
      expect.objectContaining({ name: "subFlow, null" }),
    ]);
  });
});

test("no valid query, however hostile its values, makes the server complain", async () => {
  await fc.assert(
    fc.asyncProperty(validInstanceQuery, async (raw) => {
      fc.pre(raw.filter.length <= 5000);
      const query = accepted(raw);
      const { grouping } = query;
      await run(
        grouping === undefined
          ? instanceListSql(query, scope, "i.id, i.data::text")
          : instanceGroupsSql(query, grouping, scope),
      );
    }),
    { numRuns: 200 },
  );
});

const many = { domain: "core", flow: "many" };

async function plan(raw: RawInstanceQuery): Promise<string> {
  const { text, values } = instanceListSql(accepted(raw), many, "i.id");
  const result = await client.query<{ "QUERY PLAN": string }>(
    `explain (analyze, costs off, timing off) ${text}`,
    values,
  );
  return result.rows.map((row) => row["QUERY PLAN"]).join("\n");
}

async function keys(raw: RawInstanceQuery, limits?: ProbeLimits): Promise<string[]> {
  const found = await run<{ key: string }>(instanceListSql(accepted(raw), many, "i.key", limits));
  return found.map(({ key }) => key);
}

describe("at 20,000 instances", () => {
  beforeAll(async () => {
    await client.query(
      `insert into instance (id, domain, flow, key, status, current_state, effective_state, data, created_at)
       select gen_random_uuid(), 'core', 'many', 'k' || n, 'A', 's', 's',
         jsonb_build_object('serial', n, 'common', 'yes', 'half', n % 2),
         timestamptz '2026-01-01' + n * interval '1 second'
       from generate_series(1, 20000) n`,
    );
    await client.query("vacuum analyze instance");
  });

  test("a rare data value is found by the index on data", async () => {
    await client.query("set enable_seqscan = off");
    const explained = await plan({ filter: '{"serial":{"eq":777}}' });
    await client.query("reset enable_seqscan");

    expect(explained).toContain("Bitmap Index Scan on instance_data");
    expect(await keys({ filter: '{"serial":{"eq":777}}' })).toEqual(["k777"]);
    expect(await keys({ filter: '{"serial":{"in":[5,777]}}' })).toEqual(["k777", "k5"]);
    expect(await plan({ filter: '{"serial":{"in":[5,777]}}' })).toContain("instance_data");
  });

  test("a common data value fills its page from the newest rows, and nothing else runs", async () => {
    const filter = '{"common":{"eq":"yes"}}';
    const explained = await plan({ filter });

    expect(explained).toMatch(/Index Scan using instance_list/);
    expect(explained).toMatch(/CTE hit[\s\S]*never executed/);
    expect(await keys({ filter, pageSize: "2", page: "2" })).toEqual([
      "k19998",
      "k19997",
      "k19996",
    ]);
  });

  // With every limit small, each way of finding a page is taken by one of these questions.
  test.each([
    { walked: 2000, probed: 50_000 },
    { walked: 2000, probed: 10 },
    { walked: 1, probed: 50_000 },
    { walked: 1, probed: 10 },
  ])("every way to a page gives the same rows: %j", async (limits) => {
    const half = '{"half":{"eq":0}}';
    const both = '{"half":{"in":[0,1]}}';
    const bySerial = '{"field":"attributes.serial","direction":"desc"}';
    const cases: [RawInstanceQuery, string[]][] = [
      [{ filter: half, pageSize: "1" }, ["k20000", "k19998"]],
      [{ filter: half, pageSize: "1", page: "1000" }, ["k18002", "k18000"]],
      [{ filter: '{"serial":{"in":[2,1]}}', pageSize: "1" }, ["k2", "k1"]],
      [{ filter: '{"serial":{"in":[2,1]}}', pageSize: "1", page: "2" }, ["k1"]],
      [{ filter: both, pageSize: "2", page: "900" }, ["k18202", "k18201", "k18200"]],
      [{ filter: half, sort: '{"field":"createdAt"}', pageSize: "1" }, ["k2", "k4"]],
      [{ filter: half, sort: bySerial, pageSize: "1", page: "2" }, ["k19998", "k19996"]],
      [{ filter: '{"serial":{"eq":-1}}' }, []],
    ];
    for (const [raw, expected] of cases) expect(await keys(raw, limits)).toEqual(expected);
  });

  test("a deep page is the same page", async () => {
    expect(await keys({ pageSize: "2", page: "1000" })).toEqual(["k18002", "k18001", "k18000"]);
  });

  test.each<[string, RawInstanceQuery, RegExp]>([
    ["the default order", {}, /Index (?:Only )?Scan using instance_list/],
    ["createdAt", { sort: '{"field":"createdAt","direction":"desc"}' }, /Scan using instance_list/],
    ["createdAt upwards", { sort: '{"field":"createdAt"}' }, /Scan Backward using instance_list/],
    ["a deep page", { page: "180", pageSize: "100" }, /Index Only Scan using instance_list/],
    ["a status", { filter: "status=eq:F" }, /Scan using instance_status/],
    ["a key", { filter: "key=eq:k5" }, /instance_key/],
  ])("%s uses an index", async (_, raw, expected) => {
    const explained = await plan(raw);

    expect(explained).toMatch(expected);
    expect(explained).not.toContain("Seq Scan");
  });
});
