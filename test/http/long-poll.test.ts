/** A state that waits to be seen: the run pauses there until its caller says so, or time does. */
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { handler } from "../support/a-script-slot.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });

const paused = (longPoll: object = {}) => ({
  interaction: { longPoll: { terminate: true, ...longPoll } },
});
const forOfficers = { roles: [{ role: "officer", grant: "allow" }] };

/** `show` pauses in `shown`, from where everything else goes by itself. */
const showing = (key: string, state: object) =>
  aWorkflow(key)
    .state("open")
    .transition("show", { to: "shown" })
    .state("shown", { ...state })
    .transition("go", { to: "seen", otherwise: true })
    .state("seen")
    .transition("again", { to: "shown" })
    .state("gone", { type: "finish", subType: "cancelled" })
    .cancel("drop", { to: "gone" });

await app.publish(
  showing("offer", paused()),
  showing("plain", { interaction: { longPoll: { terminate: false } } }),
  showing("guarded", paused(forOfficers)),
  showing("ruled", paused({ rule: handler("return context.Instance.Data.pause === true;") })),
  showing(
    "channelled",
    paused({
      rule: handler(
        "if (context.Headers['x-broken'] !== undefined) throw new Error('broken'); return context.QueryParameters.channel === 'app';",
      ),
    }),
  ),
  aWorkflow("chain")
    .state("open")
    .transition("begin", { to: "hop" })
    .state("hop")
    .transition("on", { to: "shown", otherwise: true })
    .state("shown", paused())
    .transition("go", { to: "seen", otherwise: true })
    .state("seen", { type: "finish", subType: "success" }),
  offering("order"),
  offering("strict", {
    states: {
      shown: { interaction: { longPoll: { ...forOfficers, fallbackTimeoutSeconds: 50 } } },
    },
  }),
);

/** A parent that runs `offer` as its subflow. */
function offering(key: string, overrides = {}) {
  const process = { key: "offer", domain: "core", flow: "sys-flows", version: "1.0.0" };
  return aWorkflow(key)
    .state("open")
    .transition("offer", { to: "offering" })
    .state("offering", { type: "subFlow", subFlow: { type: "S", process, overrides } })
    .transition("after", { to: "done", otherwise: true })
    .state("done", { type: "finish", subType: "success" });
}

const offers = instancesOf(app, "offer");
const ackPath = (path: string, id: string) => `${path}/${id}/longpoll/ack`;
const ack = (id: string, headers = {}, path = offers.path) =>
  app.post(ackPath(path, id), undefined, headers);

interface Shown {
  interaction: { ack: { href: string } };
}

async function inDatabase(sql: string, values: unknown[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: app.databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** The pause's job, as it waits for its time. */
const pauses = (id: string) =>
  inDatabase(
    `select name, extract(epoch from ready_at - created_at)::int as seconds
     from job where instance_id = $1 and kind = 'la'`,
    [id],
  );

const standing = async (path: ReturnType<typeof instancesOf>, id: string) => {
  const { metadata } = await path.read(id);
  return `${metadata.currentState} ${metadata.status}`;
};

describe("a state that ends its caller's poll", () => {
  test("keeps the instance Busy in it, with nothing of what follows done, until it is acknowledged", async () => {
    const id = await offers.begin();

    const answer = await offers.send(id, "show");

    expect(answer).toMatchObject({ status: 200, body: { id, status: "B" } });
    expect(await standing(offers, id)).toBe("shown B");
    expect(movesOf(await offers.history(id))).toEqual(["start: open-open", "show: open-shown"]);
    expect(await pauses(id)).toEqual([{ name: expect.any(String), seconds: 60 }]);

    expect(await ack(id)).toMatchObject({ status: 200, text: "" });
    expect(await standing(offers, id)).toBe("seen A");
    expect(movesOf(await offers.history(id)).at(-1)).toBe("go: shown-seen");
    expect(await pauses(id)).toEqual([]);
  });

  test("is shown with its acknowledgement to whoever waits for it, and so is what follows", async () => {
    const id = await offers.begin();
    const path = `${offers.path}/${id}/functions/state`;
    const { headers } = await app.get(path);
    const held = app.get(`${path}?wait=60`, { "if-none-match": headers["etag"]! });
    await offers.send(id, "show");
    const shown = await held;

    const next = app.get(`${path}?wait=60`, { "if-none-match": shown.headers["etag"]! });
    await app.post((shown.body as Shown).interaction.ack.href);

    expect(shown.body).toMatchObject({
      state: "shown",
      status: "B",
      transitions: [],
      interaction: { terminateLongPoll: true, fallbackTimeoutSeconds: 60 },
    });
    expect((await next).body).toMatchObject({ state: "seen", status: "A" });
    expect((await next).body).not.toHaveProperty("interaction");
  });

  test("refuses other transitions while it waits, but for the end of the instance", async () => {
    const id = await offers.begin();
    await offers.send(id, "show");

    expect(codeOf(await offers.send(id, "again"))).toBe("409 conflict.Instance:100031");
    expect(await offers.send(id, "drop")).toMatchObject({ status: 200, body: { status: "C" } });
    expect(await pauses(id)).toEqual([]);
  });

  test("goes on by itself when nobody acknowledges it in time", async () => {
    const id = await offers.begin();
    await offers.send(id, "show");

    await inDatabase("update job set ready_at = now() where instance_id = $1 and kind = 'la'", [
      id,
    ]);

    await eventually(async () => expect(await standing(offers, id)).toBe("seen A"));
    expect(movesOf(await offers.history(id)).at(-1)).toBe("go: shown-seen");
    expect(await pauses(id)).toEqual([]);
  });

  test("pauses each time it is entered", async () => {
    const id = await offers.begin();
    await offers.send(id, "show");
    await ack(id);

    await offers.send(id, "again");

    expect(await standing(offers, id)).toBe("shown B");
    await ack(id);
    expect(await standing(offers, id)).toBe("seen A");
  });

  test("does so for a transition that is queued too", async () => {
    const id = await offers.begin();

    const answer = await offers.send(id, "show", {}, { query: "sync=false" });

    expect(answer.status).toBe(202);
    await eventually(async () => expect(await pauses(id)).toHaveLength(1));
    expect(await standing(offers, id)).toBe("shown B");
    await ack(id);
    expect(await standing(offers, id)).toBe("seen A");
  });

  test("lets through what comes by itself: nobody polls for that", async () => {
    const chains = instancesOf(app, "chain");
    const id = await chains.begin();

    const answer = await chains.send(id, "begin");

    expect(answer).toMatchObject({ status: 200, body: { status: "C" } });
  });

  test("without 'terminate' does not wait", async () => {
    const plain = instancesOf(app, "plain");
    const id = await plain.begin();

    await plain.send(id, "show");

    expect(await standing(plain, id)).toBe("seen A");
  });
});

describe("for whom a state waits", () => {
  const guarded = instancesOf(app, "guarded");
  const ruled = instancesOf(app, "ruled");
  const channelled = instancesOf(app, "channelled");
  const officer = { role: "officer" };

  test("by role: others pass, and may not acknowledge", async () => {
    const passed = await guarded.begin();
    await guarded.send(passed, "show");
    const id = await guarded.begin();
    await guarded.send(id, "show", {}, { headers: officer });

    expect(await standing(guarded, passed)).toBe("seen A");
    expect(await standing(guarded, id)).toBe("shown B");
    expect(codeOf(await ack(id, {}, guarded.path))).toBe("403 forbidden.Authorization:110001");
    expect(await standing(guarded, id)).toBe("shown B");
    expect((await ack(id, officer, guarded.path)).status).toBe(200);
    expect(await standing(guarded, id)).toBe("seen A");
  });

  test("by role: a caller without a role header names one, for the state and for its acknowledgement", async () => {
    const id = await guarded.begin();
    await guarded.send(id, "show", {}, { headers: officer });

    const shown = await app.get(`${guarded.path}/${id}/functions/state?Role=officer`);
    const answer = await app.post(`${ackPath(guarded.path, id)}?Role=officer`, undefined);

    expect(shown.body).toHaveProperty("interaction.ack");
    expect(answer.status).toBe(200);
    expect(await standing(guarded, id)).toBe("seen A");
  });

  test("by a rule, which is asked again when the state is acknowledged", async () => {
    const passed = await ruled.begin({ pause: false });
    await ruled.send(passed, "show");
    const id = await ruled.begin({ pause: true });
    await ruled.send(id, "show");

    expect(await standing(ruled, passed)).toBe("seen A");
    expect(await standing(ruled, id)).toBe("shown B");
    expect((await ack(id, {}, ruled.path)).status).toBe(200);
    expect(await standing(ruled, id)).toBe("seen A");
  });

  const noHeaders: Record<string, string> = {};
  test.each([
    ["holds for the request", "?channel=app", noHeaders, 200],
    ["does not", "?channel=web", noHeaders, 403],
    ["fails", "?channel=app", { "x-broken": "1" }, 403],
  ])("by a rule that %s: shown and acknowledged alike", async (_, query, headers, status) => {
    const id = await channelled.begin();
    await channelled.send(id, "show", {}, { query: "sync=true&channel=app" });

    const shown = await app.get(`${channelled.path}/${id}/functions/state${query}`, headers);
    const answer = await app.post(`${ackPath(channelled.path, id)}${query}`, undefined, headers);

    expect(Object.hasOwn(shown.body as object, "interaction")).toBe(status === 200);
    expect(answer.status).toBe(status);
  });

  test("by a rule that fails when the state is entered: nobody's poll ends, the run goes on", async () => {
    const id = await channelled.begin();

    const query = "sync=true&channel=app";
    const answer = await channelled.send(id, "show", {}, { query, headers: { "x-broken": "1" } });

    expect(answer.status).toBe(200);
    expect(await standing(channelled, id)).toBe("seen A");
    expect((await channelled.read(id)).metadata).toMatchObject({
      incident: { hasActiveIncident: false },
    });
  });

  test("is what 'authorize' answers for an acknowledgement", async () => {
    const id = await guarded.begin();
    const asks = (headers = {}, more = "") =>
      app.get(`${guarded.path}/${id}/functions/authorize?ack=true${more}`, headers);
    const before = await asks({}, "&explain=true");
    await guarded.send(id, "show", {}, { headers: officer });

    expect(before.body).toMatchObject({
      allowed: true,
      checks: [{ check: "longPoll", reason: "nothingWaits" }],
    });
    expect(await asks()).toMatchObject({ status: 403, body: { allowed: false } });
    expect(await asks(officer)).toMatchObject({ status: 200, body: { allowed: true } });
    expect((await asks(officer, "&explain=true")).body).toMatchObject({
      target: { ack: true, state: "shown" },
      checks: [{ check: "longPoll", allowed: true, reason: "rolesAllow" }],
    });
    expect(codeOf(await asks(officer, "&queryRoles=true"))).toBe(
      "400 validation.Authorization:110002",
    );
  });
});

describe("an acknowledgement", () => {
  test("may be repeated, and may come when nothing waits", async () => {
    const id = await offers.begin();
    expect((await ack(id)).status).toBe(200);
    await offers.send(id, "show");

    const both = await Promise.all([ack(id), ack(id)]);

    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    await eventually(async () => expect(await standing(offers, id)).toBe("seen A"));
    expect((await ack(id)).status).toBe(200);
    expect(movesOf(await offers.history(id))).toHaveLength(3);
  });

  test("is taken as PATCH too", async () => {
    const id = await offers.begin();
    await offers.send(id, "show");

    expect((await app.patch(ackPath(offers.path, id))).status).toBe(200);

    expect(await standing(offers, id)).toBe("seen A");
  });

  test("of an instance that has ended, or is not there, is refused", async () => {
    const id = await offers.begin();
    await offers.send(id, "drop");

    expect(codeOf(await ack(id))).toBe("400 validation.Instance:100018");
    expect(codeOf(await ack("nobody"))).toBe("404 notfound.Instance:100017");
  });

  test("sent to a parent reaches the subflow that waits", async () => {
    const orders = instancesOf(app, "order");
    const id = await orders.begin();
    await orders.send(id, "offer");
    await orders.send(id, "show");
    const before = await orders.read(id);

    const answer = await ack(id, {}, orders.path);

    expect(before.metadata).toMatchObject({ effectiveState: "shown", status: "B" });
    expect(answer.status).toBe(200);
    expect((await orders.read(id)).metadata).toMatchObject({ effectiveState: "seen", status: "B" });
  });

  test("is asked of those the parent names, who also says how long its subflow waits", async () => {
    const parents = instancesOf(app, "strict");
    const headers = { role: "officer" };
    const passed = await parents.begin();
    await parents.send(passed, "offer");
    await parents.send(passed, "show");
    const id = await parents.begin();
    await parents.send(id, "offer");
    await parents.send(id, "show", {}, { headers });
    const before = await parents.read(id);

    const [refused, answer] = [
      await ack(id, {}, parents.path),
      await ack(id, headers, parents.path),
    ];

    expect((await parents.read(passed)).metadata.effectiveState).toBe("seen");
    expect(before.metadata.effectiveState).toBe("shown");
    expect(codeOf(refused)).toBe("403 forbidden.Authorization:110001");
    expect(answer.status).toBe(200);
    expect((await parents.read(id)).metadata.effectiveState).toBe("seen");
  });

  test("that nobody sends ends the wait after the time the parent says", async () => {
    const parents = instancesOf(app, "strict");
    const id = await parents.begin();
    await parents.send(id, "offer");
    await parents.send(id, "show", {}, { headers: { role: "officer" } });
    const [{ child_id: child }] = (await inDatabase(
      "select child_id from correlation where parent_id = $1",
      [id],
    )) as [{ child_id: string }];

    expect(await pauses(child)).toMatchObject([{ seconds: 50 }]);
  });
});
