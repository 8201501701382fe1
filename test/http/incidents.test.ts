/** What a caller can read about failures, and who may. */
import { describe, expect, test } from "vitest";
import { rowsOf } from "../crash/promises.ts";
import { aFailingServerForFile } from "../support/a-failing-server.ts";
import { aScriptTask, output, taskWith } from "../support/a-script-slot.ts";
import { auditAtEnd } from "../support/audited.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ settings: { "Egress.Allow": ["loopback"] } });
auditAtEnd(app);
const server = await aFailingServerForFile();

const task = (body: string) => taskWith("script", output(body));
const readers = [{ role: "reader", grant: "allow" }];
const auditors = [{ role: "auditor", grant: "allow" }];

await app.publish(
  aScriptTask("script"),
  server.task("charge-card", 503),
  aWorkflow("order")
    .state("open")
    .transition("go", { onExecutionTasks: [task("throw new Error('broken');")] })
    .transition("charge", { onExecutionTasks: [taskWith("charge-card", { type: "G" })] })
    .transition("leak", {
      onExecutionTasks: [task("throw new Error('login failed: password=hunter2 token: abc.def');")],
    })
    .transition("shout", { onExecutionTasks: [task("throw new Error('x'.repeat(5000));")] })
    .transition("next", { to: "guarded" })
    .state("guarded", { queryRoles: auditors })
    .transition("go-guarded", { onExecutionTasks: [task("throw new Error('broken');")] })
    .state("end", { type: "finish", subType: "success" })
    .cancel("drop", { to: "end" })
    .with({ queryRoles: readers }),
  aWorkflow("unguarded")
    .state("open")
    .transition("go", { onExecutionTasks: [task("throw new Error('broken');")] }),
);
const orders = instancesOf(app, "order");
const free = instancesOf(app, "unguarded");

const reader = { role: "reader" };
const auditor = { role: "auditor" };

interface Page {
  hasActiveIncident: boolean;
  items: Record<string, unknown>[];
  page: number;
  pageSize: number;
  hasNext: boolean;
}

const pageOf = async (id: string, query = "") => {
  const answer = await app.get(`${free.path}/${id}/incidents?${query}`);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as Page;
};

/** An instance with this many incidents, all but the newest resolved by retries. */
async function withIncidents(count: number): Promise<string> {
  const id = await free.begin({});
  await free.send(id, "go");
  for (let i = 1; i < count; i += 1) await app.post(`${free.path}/${id}/retry?sync=true`, {});
  return id;
}

describe("an incident", () => {
  test("says where and what, with its trace, and links to itself from the instance", async () => {
    const id = await orders.begin({});
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    await orders.send(id, "charge", {}, { headers: { traceparent } });

    const { body } = await app.get(`${orders.path}/${id}/incidents/active`, reader);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
      state: "open",
      transition: "charge",
      task: "charge-card",
      message: expect.stringContaining("charge-card") as string,
      errorCode: "Task:Http:503",
      errorLayer: "Task",
      statusCode: 503,
      traceId: "0af7651916cd43dd8448eb211c80319c",
      isResolved: false,
      retryCount: 0,
    });
    expect((await orders.read(id)).metadata["incident"]).toEqual({
      hasActiveIncident: true,
      totalCount: 1,
      active: { href: `${orders.path}/${id}/incidents/active` },
      history: { href: `${orders.path}/${id}/incidents` },
    });
  });

  test("has a time and no link of its own once it is resolved", async () => {
    const id = await free.begin({});
    await free.send(id, "go");
    await app.post(`${free.path}/${id}/retry?sync=true`, {});

    const { items } = await pageOf(id);

    expect(items).toMatchObject([
      { isResolved: false, retryCount: 0 },
      { isResolved: true, retryCount: 1, resolvedAt: expect.stringMatching(/Z$/) as string },
    ]);
  });

  test("tells no stack, no secret and no novel", async () => {
    const id = await orders.begin({});
    await orders.send(id, "leak");
    const other = await orders.begin({});
    await orders.send(other, "shout");

    const leaked = await app.get(`${orders.path}/${id}/incidents/active`, reader);
    const long = await app.get(`${orders.path}/${other}/incidents/active`, reader);

    expect(leaked.text).not.toContain("hunter2");
    expect(leaked.text).not.toContain("abc.def");
    expect(leaked.text).not.toMatch(/\bat .*:\d+:\d+|stack/i);
    expect((long.body as { message: string }).message.length).toBeLessThanOrEqual(1024);
  });
});

describe("the history of incidents", () => {
  test("is paged, newest first", async () => {
    const id = await withIncidents(5);
    const all = await pageOf(id);

    const pages = [await pageOf(id, "page=1&pageSize=2"), await pageOf(id, "page=2&pageSize=2")];
    const last = await pageOf(id, "page=3&pageSize=2");

    expect(all).toMatchObject({ hasActiveIncident: true, page: 1, pageSize: 20, hasNext: false });
    const times = all.items.map((it) => it["createdAt"] as string);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(pages.map((it) => it.hasNext)).toEqual([true, true]);
    expect(last).toMatchObject({ page: 3, pageSize: 2, hasNext: false });
    expect([...pages, last].flatMap((it) => it.items)).toEqual(all.items);
    expect(await pageOf(id, "page=9")).toMatchObject({ items: [], hasNext: false });
  });

  test("has pages of at most 100, however many are asked for", async () => {
    const id = await withIncidents(1);
    await rowsOf(
      app.databaseUrl,
      `insert into incident (id, instance_id, number, state, transition, message, created_at, resolved_at)
       select gen_random_uuid(), $1, n, 'open', 'go', 'old', now() - interval '1 day', now()
       from generate_series(-119, 0) n`,
      [id],
    );
    await rowsOf(app.databaseUrl, "update instance set incident_count = 121 where id = $1", [id]);

    const { items, ...page } = await pageOf(id, "pageSize=1000");

    expect(page).toMatchObject({ pageSize: 100, hasNext: true });
    expect(items).toHaveLength(100);
    expect((await pageOf(id, "pageSize=1000&page=2")).items).toHaveLength(21);
  });

  test.for(["page=0", "page=-1", "page=x", "pageSize=0", "pageSize=1.5"])(
    "refuses ?%s",
    async (query) => {
      const id = await withIncidents(1);

      expect(await app.get(`${free.path}/${id}/incidents?${query}`)).toMatchObject({ status: 400 });
    },
  );

  test("of an instance without any is empty, and none is active", async () => {
    const id = await free.begin({});

    expect(await pageOf(id)).toEqual({
      hasActiveIncident: false,
      items: [],
      page: 1,
      pageSize: 20,
      hasNext: false,
    });
    expect(codeOf(await app.get(`${free.path}/${id}/incidents/active`))).toBe(
      "404 notfound.Instance:100037",
    );
    expect((await free.read(id)).metadata["incident"]).toEqual({
      hasActiveIncident: false,
      totalCount: 0,
      history: { href: `${free.path}/${id}/incidents` },
    });
  });

  test.for(["incidents", "incidents/active"])(
    "of an unknown instance is 404 (%s)",
    async (path) => {
      expect(codeOf(await app.get(`${free.path}/nobody/${path}`))).toBe(
        "404 notfound.Instance:100013",
      );
    },
  );

  test("is found by business key too", async () => {
    const id = await free.begin({ key: "K-1", attributes: {} });
    await free.send(id, "go");

    expect((await pageOf("K-1")).items).toHaveLength(1);
  });
});

describe("incidents may be read", () => {
  test.for(["incidents", "incidents/active"])(
    "by the roles of the workflow, where the state names none (%s)",
    async (path) => {
      const id = await orders.begin({});
      await orders.send(id, "go");
      const url = `${orders.path}/${id}/${path}`;

      expect(await app.get(url, reader)).toMatchObject({ status: 200 });
      expect(codeOf(await app.get(url, auditor))).toBe("403 forbidden.Authorization:110001");
      expect(codeOf(await app.get(url))).toBe("403 forbidden.Authorization:110001");
    },
  );

  test.for(["incidents", "incidents/active"])(
    "by the roles of the state, where it names some (%s)",
    async (path) => {
      const id = await orders.begin({});
      await orders.send(id, "next");
      await orders.send(id, "go-guarded");
      const url = `${orders.path}/${id}/${path}`;

      expect(await app.get(url, auditor)).toMatchObject({ status: 200 });
      expect(codeOf(await app.get(url, reader))).toBe("403 forbidden.Authorization:110001");
    },
  );
});

test("a faulted instance takes no transition, not even its cancel; a retry is the way on", async () => {
  const id = await orders.begin({});
  await orders.send(id, "go");

  expect(codeOf(await orders.send(id, "drop"))).toBe("400 validation.Instance:100018");
  expect(await orders.read(id)).toMatchObject({ metadata: { status: "F" } });
});
