import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { aComponent, aSchema, aWorkflow } from "../support/a-workflow.ts";
import { startRuntime, startRuntimeForFile, type Answer } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());

interface Item {
  key: string;
  attributes?: Record<string, unknown>;
}
interface List {
  links: Record<"self" | "first" | "next" | "prev", string>;
  items: Item[];
}

const listOf = (answer: Answer) => answer.body as List;
const keysOf = (answer: Answer) => listOf(answer).items.map(({ key }) => key);
const codeOf = (answer: Answer) => `${answer.status} ${(answer.body as { code: string }).code}`;
const errorsOf = (answer: Answer) => (answer.body as { errors: object }).errors;
const query = (parameters: Record<string, unknown>) =>
  Object.entries(parameters)
    .map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)])
    .map(([name = "", value = ""]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");

/** Rows as a run would leave them; the moments are set, so that the order is known. */
async function insertInstance(flow: string, minute: number, row: Record<string, unknown>) {
  const all = {
    id: `0190a5b1-0000-7000-8000-${String(minute).padStart(12, "0")}`,
    domain: "core",
    flow,
    key: `${flow}-${minute}`,
    flow_version: "1.0.0",
    status: "A",
    rev: 1,
    current_state: "draft",
    current_state_type: 1,
    current_state_sub_type: 0,
    effective_state: "draft",
    effective_state_type: 1,
    effective_state_sub_type: 0,
    data: "{}",
    entity_etag: "01KK8Q8N5T6H49T8AENYT6Z6ZQ",
    created_at: `2026-01-01T00:${String(minute).padStart(2, "0")}:00Z`,
    ...row,
  };
  const columns = Object.keys(all);
  await database.query(
    `insert into instance (${columns.join(", ")}) values (${columns.map((_, i) => `$${i + 1}`).join(", ")})`,
    Object.values(all),
  );
}

await app.publish(aWorkflow("loan").state("draft"), aWorkflow("empty").state("draft"));
await insertInstance("loan", 1, { data: '{"city":"Ankara","amount":9007199254740993}' });
await insertInstance("loan", 2, { data: '{"city":"Izmir","amount":0.10}', stage: "KYC" });
await insertInstance("loan", 3, { data: '{"city":"Ankara","amount":250}', status: "F" });
await insertInstance("loan", 4, {
  key: null,
  status: "C",
  data: null,
  current_state_type: 3,
  completed_at: "2026-01-01T00:04:12.500Z",
  created_by: "agent7",
  has_active_incident: true,
  incident_count: 1,
});
const loans = "/api/v1/core/workflows/loan/instances";

test("a list has links and items, newest first", async () => {
  const answer = await app.get(loans);

  expect(answer.status).toBe(200);
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(listOf(answer).links).toEqual({
    self: `${loans}?page=1&pageSize=10`,
    first: `${loans}?page=1&pageSize=10`,
    next: "",
    prev: "",
  });
  expect(keysOf(answer)).toEqual([undefined, "loan-3", "loan-2", "loan-1"]);
});

test("an item is the instance without eTag and without extensions", async () => {
  const { items } = listOf(await app.get(loans));

  expect(items[2]).toEqual({
    id: "0190a5b1-0000-7000-8000-000000000002",
    key: "loan-2",
    flow: "loan",
    domain: "core",
    flowVersion: "1.0.0",
    entityEtag: '"01KK8Q8N5T6H49T8AENYT6Z6ZQ"',
    tags: [],
    metadata: {
      currentState: "draft",
      effectiveState: "draft",
      status: "A",
      effectiveStateType: "initial",
      effectiveStateSubType: "none",
      currentStateType: "initial",
      currentStateSubType: "none",
      stage: "KYC",
      createdAt: "2026-01-01T00:02:00.000Z",
      incident: {
        hasActiveIncident: false,
        history: { href: `${loans}/0190a5b1-0000-7000-8000-000000000002/incidents` },
      },
    },
    attributes: { city: "Izmir", amount: 0.1 },
  });
  expect(items[0]).toMatchObject({
    metadata: {
      status: "C",
      completedAt: "2026-01-01T00:04:12.500Z",
      duration: 12.5,
      createdBy: "agent7",
      incident: {
        hasActiveIncident: true,
        active: { href: `${loans}/0190a5b1-0000-7000-8000-000000000004/incidents/active` },
      },
    },
  });
  expect(items[0]).not.toHaveProperty("key");
  expect(items[0]).not.toHaveProperty("attributes");
});

test("numbers come as they were sent", async () => {
  const { text } = await app.get(loans);

  expect(text).toContain('"amount": 9007199254740993');
  expect(text).toContain('"amount": 0.10');
});

describe("pages", () => {
  test("lead from one to the next with everything else that was asked", async () => {
    const filter = '{"flow":{"eq":"loan"}}';
    const rest = `&filter=${encodeURIComponent(filter)}&orderBy=${encodeURIComponent('{"field":"createdAt"}')}`;

    const first = await app.get(`${loans}?pageSize=3${rest}`);
    const second = await app.get(listOf(first).links.next);

    expect(listOf(first).links).toEqual({
      self: `${loans}?page=1&pageSize=3${rest}`,
      first: `${loans}?page=1&pageSize=3${rest}`,
      next: `${loans}?page=2&pageSize=3${rest}`,
      prev: "",
    });
    expect(keysOf(first)).toEqual(["loan-1", "loan-2", "loan-3"]);
    expect(keysOf(second)).toEqual([undefined]);
    expect(listOf(second).links).toMatchObject({
      next: "",
      prev: `${loans}?page=1&pageSize=3${rest}`,
    });
  });

  test("past the end are empty", async () => {
    const answer = await app.get(`${loans}?page=7&pageSize=2`);

    expect(listOf(answer)).toMatchObject({
      items: [],
      links: { next: "", prev: `${loans}?page=6&pageSize=2` },
    });
  });

  test.each(["page=0", "page=1001", "pageSize=0", "pageSize=101", "page=x", "PAGESIZE=-1"])(
    "%s is refused by name",
    async (parameters) => {
      const answer = await app.get(`${loans}?${parameters}`);

      expect(codeOf(answer)).toBe("400 ModelValidation:Failed");
      expect(Object.keys(errorsOf(answer))).toHaveLength(1);
    },
  );

  test("are the same under /api/v1.0", async () => {
    const answer = await app.get(`${loans.replace("/v1/", "/v1.0/")}?pageSize=1`);

    expect(listOf(answer).links.next).toBe(`${loans}?page=2&pageSize=1`);
  });
});

describe("questions", () => {
  test.each([
    ["a status by code", { filter: { status: { eq: "F" } } }, ["loan-3"]],
    ["a status by name", { filter: "status=eq:Faulted" }, ["loan-3"]],
    ["data", { filter: { attributes: { city: { eq: "Ankara" } } } }, ["loan-3", "loan-1"]],
    ["data in the old form", { filter: "attributes=city=eq:Izmir" }, ["loan-2"]],
    ["exact numbers", { filter: '{"amount":{"gt":9007199254740992}}' }, ["loan-1"]],
    ["several things", { filter: { stage: { eq: "KYC" }, status: { eq: "A" } } }, ["loan-2"]],
    [
      "the order",
      { sort: { field: "key" }, filter: { key: { isNull: false } } },
      ["loan-1", "loan-2", "loan-3"],
    ],
    [
      "the order by data",
      {
        sort: { field: "createdAt" },
        orderBy: { field: "attributes.amount", direction: "desc" },
        filter: { key: { isNull: false } },
      },
      ["loan-1", "loan-3", "loan-2"],
    ],
  ])("about %s are answered", async (_, parameters, keys) => {
    const answer = await app.get(`${loans}?${query(parameters)}`);

    expect(answer.status).toBe(200);
    expect(keysOf(answer)).toEqual(keys);
  });

  test.each([
    ["filter", "{", "400 Validation:900011", "filter"],
    ["filter", '{"status":{"gte":"A"}}', "400 Validation:900011", "filter.status.gte"],
    ["filter", "status eq 'A'", "400 Validation:900011", "filter"],
    ["sort", "-createdAt", "400 Validation:900012", "sort"],
    ["orderBy", '{"field":"nothing"}', "400 Validation:900012", "orderBy.field"],
    ["groupBy", "{}", "400 Validation:900013", "groupBy"],
    ["aggregations", '{"sum":1}', "400 Validation:900014", "aggregations.sum"],
  ])("%s=%s is refused with its code and place", async (name, value, code, place) => {
    const answer = await app.get(`${loans}?${query({ [name]: value })}`);

    expect(codeOf(answer)).toBe(code);
    expect(Object.keys(errorsOf(answer)).join(" ")).toContain(place.split(".")[0]);
  });

  test("a filter given twice is refused, not joined", async () => {
    const answer = await app.get(`${loans}?filter=status=eq:A&filter=status=eq:F`);

    expect(codeOf(answer)).toBe("400 Validation:900011");
  });

  test("a parameter nobody knows is refused: ignoring it would widen the answer", async () => {
    const answer = await app.get(`${loans}?fliter=status=eq:A`);

    expect(codeOf(answer)).toBe("400 ModelValidation:Failed");
    expect(errorsOf(answer)).toEqual({ fliter: [expect.stringContaining("filter")] });
  });

  test("version and extensions are accepted and change nothing", async () => {
    const answer = await app.get(`${loans}?version=1.0.0&extensions=a,b&extensions=c`);

    expect(keysOf(answer)).toHaveLength(4);
    expect(listOf(answer).links.self).toBe(
      `${loans}?page=1&pageSize=10&version=1.0.0&extensions=a%2Cb&extensions=c`,
    );
  });

  test("groups come instead of instances, all in one answer", async () => {
    const answer = await app.get(
      `${loans}?${query({
        groupBy: { field: "attributes.city" },
        aggregations: { count: true, max: "attributes.amount" },
        pageSize: 1,
      })}`,
    );

    expect(answer.text).toContain('"max":9007199254740993');
    expect(listOf(answer)).toMatchObject({
      links: { next: "", prev: "" },
      items: [
        { name: "Ankara", keys: { "attributes.city": "Ankara" }, count: 2 },
        { name: "Izmir", keys: { "attributes.city": "Izmir" }, count: 1, max: 0.1 },
        { name: "null", keys: { "attributes.city": null }, count: 1 },
      ],
    });
  });
});

test("more groups than one answer may hold are refused", async () => {
  await app.publish(aWorkflow("many").state("draft"));
  await database.query(
    `insert into instance (id, domain, flow, flow_version, status, rev, current_state,
       current_state_type, current_state_sub_type, effective_state, effective_state_type,
       effective_state_sub_type, data, entity_etag, created_at)
     select gen_random_uuid(), 'core', 'many', '1.0.0', 'A', 1, 'draft', 1, 0, 'draft', 1, 0,
       jsonb_build_object('n', n), '', now() from generate_series(1, 1001) n`,
  );
  const groups = (filter: object) =>
    app.get(
      `/api/v1/core/workflows/many/instances?${query({ filter, groupBy: { field: "attributes.n" } })}`,
    );

  const all = await groups({});
  const fewer = await groups({ n: { gt: 1 } });

  expect(codeOf(all)).toBe("400 Validation:900013");
  expect(errorsOf(all)).toEqual({ groupBy: [expect.stringContaining("more than 1000")] });
  expect(listOf(fewer).items).toHaveLength(1000);
});

test("a workflow without instances has an empty list", async () => {
  const answer = await app.get("/api/v1/core/workflows/empty/instances");

  expect(listOf(answer).items).toEqual([]);
});

test("a workflow that is not published is not found", async () => {
  const answer = await app.get("/api/v1/core/workflows/nothing/instances");

  expect(answer).toMatchObject({ status: 404, body: { errorCode: "notfound.Cache:300001" } });
});

test("a list that takes too long is given up with a hint", async () => {
  const impatient = await startRuntime({
    databaseUrl: app.databaseUrl,
    settings: { "Database.StatementTimeoutMs": 2000 },
  });
  await database.query("begin; lock table instance in access exclusive mode");

  const answer = await impatient.get(loans);
  await database.query("rollback");

  expect(codeOf(answer)).toBe("503 Http:503003");
  expect(answer.headers["retry-after"]).toBe("1");
});

const view = (key: string, version: string, attributes: object = {}) =>
  aComponent(
    "sys-views",
    key,
    { type: 1, display: "popup", content: { title: key }, ...attributes },
    { domain: "hr", version, tags: [version] },
  );

describe("definitions", () => {
  const views = "/api/v1/hr/workflows/sys-views/instances";
  const ready = app.publish(
    view("form", "1.0.0", { renderer: "vue" }),
    view("form", "1.10.0", { renderer: "react" }),
    view("form", "1.9.0", { renderer: "angular" }),
    view("odd", "1.0.0", { content: { nul: "\u0000" } }),
    view("page", "1.0.0", { renderer: "react", size: 2 }),
    aSchema("form", { type: "object" }, { domain: "hr" }),
  );

  test("are listed in their latest version, as authored", async () => {
    await ready;

    const answer = await app.get(views);

    expect(keysOf(answer)).toEqual(["page", "odd", "form"]);
    const form = listOf(answer).items[2];
    expect(form).toMatchObject({
      flow: "sys-views",
      domain: "hr",
      tags: ["1.0.0", "1.10.0", "1.9.0"],
      metadata: { status: "A", currentState: "active", effectiveStateType: "intermediate" },
      attributes: { renderer: "react" },
    });
    expect(form).not.toHaveProperty("eTag");
    expect(answer.text).toContain('"attributes":{"type":1,"display":"popup","content"');
  });

  test("an item is what reading it alone gives", async () => {
    await ready;
    const item = listOf(await app.get(views)).items[0];

    const alone = (await app.get(`${views}/page`)).body as Record<string, unknown>;

    const { eTag: _tag, extensions: _none, ...rest } = alone;
    expect(item).toEqual(rest);
  });

  test.each([
    ["by key", { filter: { key: { startswith: "fo" } } }, ["form"]],
    ["by what they say", { filter: { renderer: { eq: "react" } } }, ["page", "form"]],
    ["in an order", { orderBy: { field: "attributes.size" } }, ["page", "form", "odd"]],
    ["by page", { pageSize: 1, page: 2 }, ["odd"]],
    [
      "by state",
      { filter: { state: { eq: "active" } }, sort: { field: "key" } },
      ["form", "odd", "page"],
    ],
  ])("are found %s", async (_, parameters, keys) => {
    await ready;

    expect(keysOf(await app.get(`${views}?${query(parameters)}`))).toEqual(keys);
  });

  test("can be grouped", async () => {
    await ready;

    const answer = await app.get(
      `${views}?${query({ groupBy: { field: "attributes.renderer" } })}`,
    );

    expect(listOf(answer).items).toMatchObject([
      { name: "react", count: 2 },
      { name: "null", count: 1 },
    ]);
  });

  test("of a domain that has none are an empty list", async () => {
    const answer = await app.get("/api/v1/nobody/workflows/sys-flows/instances");

    expect(listOf(answer).items).toEqual([]);
  });
});
