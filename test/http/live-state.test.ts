import { request } from "undici";
import { describe, expect, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { readEvents, type ReceivedEvent } from "../support/read-events.ts";
import { startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({
  roles: ["api", "worker"],
  settings: { "Live.PollSeconds": 30, "Live.HeartbeatSeconds": 1 },
});

const loan = aWorkflow("loan")
  .state("draft")
  .transition("submit", { to: "review" })
  .transition("note", {})
  .state("review")
  .transition("back", { to: "draft" })
  .transition("approve", { to: "done", roles: [{ role: "officer", grant: "allow" }] })
  .state("vault", { queryRoles: [{ role: "officer", grant: "allow" }] })
  .transition("open", { to: "draft" })
  .state("done", { type: "finish", subType: "success" })
  .shared("lock", { to: "vault" });
await app.publish(loan);
const loans = instancesOf(app, "loan");

const statePath = (id: string, query = "") => `${loans.path}/${id}/functions/state${query}`;
const streamPath = (id: string) => statePath(id, "/stream");

async function etagOf(id: string, headers = {}): Promise<string> {
  const answer = await app.get(statePath(id), headers);
  expect(answer.status).toBe(200);
  return answer.headers["etag"]!;
}

function poll(id: string, etag: string, more: { wait?: number; headers?: object } = {}) {
  const { wait = 20, headers = {} } = more;
  return app.get(statePath(id, `?wait=${wait}`), { "if-none-match": etag, ...headers });
}

/** Long enough for a request that is not held to be answered. */
const isHeld = async (answer: Promise<unknown>) => {
  const tick = new Promise((resolve) => setTimeout(resolve, 150, "held"));
  return (await Promise.race([answer, tick])) === "held";
};

describe("a read with 'wait'", () => {
  test("is held until somebody moves the instance, and then answered with the new state", async () => {
    const id = await loans.begin();
    const etag = await etagOf(id);
    const answer = poll(id, etag);
    expect(await isHeld(answer)).toBe(true);

    await loans.send(id, "submit");

    expect(await answer).toMatchObject({ status: 200, body: { state: "review", status: "A" } });
    expect((await answer).headers["etag"]).toBe(await etagOf(id));
    expect((await answer).headers["etag"]).not.toBe(etag);
  });

  test("is 304 when its time is over", async () => {
    const id = await loans.begin();
    const etag = await etagOf(id);
    const begun = performance.now();

    const answer = await poll(id, etag, { wait: 0.3 });

    expect(answer).toMatchObject({ status: 304, text: "" });
    expect(answer.headers["etag"]).toBe(etag);
    expect(performance.now() - begun).toBeGreaterThan(250);
  });

  test("is answered at once to somebody who knows an older state, or none", async () => {
    const id = await loans.begin();
    const old = await etagOf(id);
    await loans.send(id, "submit");

    expect(await poll(id, old)).toMatchObject({ status: 200, body: { state: "review" } });
    expect(await app.get(statePath(id, "?wait=20"))).toMatchObject({
      status: 200,
      body: { state: "review" },
    });
  });

  test("goes by the instance's key too, and stays with the instance it found", async () => {
    const id = await loans.begin({ key: "L-1", attributes: {} });
    const answer = poll("L-1", await etagOf("L-1"));
    expect(await isHeld(answer)).toBe(true);

    await loans.send(id, "submit");

    expect(await answer).toMatchObject({ status: 200, body: { state: "review" } });
  });

  test("is refused to those who may not look, also when that changes while they wait", async () => {
    const id = await loans.begin();
    const answer = poll(id, await etagOf(id));
    expect(await isHeld(answer)).toBe(true);

    await loans.send(id, "lock");

    expect(codeOf(await answer)).toBe("403 forbidden.Authorization:110001");
    expect(codeOf(await poll(id, '"known"'))).toBe("403 forbidden.Authorization:110001");
  });

  test("of an instance that is not there is 404", async () => {
    const answer = await poll(crypto.randomUUID(), '"known"');

    expect(codeOf(answer)).toBe("404 notfound.Instance:100013");
  });

  test.each(["soon", "-1"])("says what is wrong with wait=%s", async (wait) => {
    const id = await loans.begin();

    const answer = await app.get(statePath(id, `?wait=${wait}`));

    expect(answer).toMatchObject({ status: 400, body: { errors: { wait: [expect.any(String)] } } });
  });

  test(
    "is answered by one change to a thousand callers who wait",
    { timeout: 120_000 },
    async () => {
      const id = await loans.begin();
      const etag = await etagOf(id);
      const held = Array.from({ length: 1000 }, () => poll(id, etag, { wait: 60 }));
      await eventually(async () => expect(await activeRequests()).toBeGreaterThan(1000));

      await loans.send(id, "submit");

      const answers = await Promise.all(held);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1000);
      expect(new Set(answers.map(({ headers }) => headers["etag"])).size).toBe(1);
      await eventually(async () => expect(await activeRequests()).toBe(1));
    },
  );

  test("is refused when too many wait already, and a caller who goes away makes room", async () => {
    const node = await startRuntime({ settings: { "Live.MaxWaiters": 1 } });
    await node.publish(loan);
    const id = await instancesOf(node, "loan").begin();
    const waitBriefly = () => node.get(statePath(id, "?wait=0.1"), { "if-none-match": "*" });
    // Who reads the first event has come in.
    const inside = await readEvents(node, streamPath(id));
    await inside.next();

    const refused = await waitBriefly();
    const answered = await node.get(statePath(id, "?wait=20"), { "if-none-match": '"old"' });
    const stream = await node.get(streamPath(id));
    inside.close();

    expect(codeOf(refused)).toBe("503 transient.Http:503004");
    expect(refused.headers["retry-after"]).toBe("1");
    expect(answered.status).toBe(200);
    expect(codeOf(stream)).toBe("503 transient.Http:503004");
    await eventually(async () => expect((await waitBriefly()).status).toBe(304));
  });
});

/** The question itself is one of them. */
async function activeRequests(node = app): Promise<number> {
  const { text } = await node.get("/metrics");
  return Number(/^http_server_active_requests\S* (\d+)/m.exec(text)?.[1]);
}

describe("the stream of states", () => {
  test("tells the state, then each new one, with the ETags of the state function, and ends with the instance", async () => {
    const id = await loans.begin();
    const events = await readEvents(app, streamPath(id));
    const officer = { headers: { role: "officer" } };

    const first = await events.next();
    const firstEtag = await etagOf(id);
    await loans.send(id, "submit");
    const second = await events.next();
    const secondEtag = await etagOf(id);
    await loans.send(id, "approve", {}, officer);
    const rest = await events.rest();

    expect(events).toMatchObject({
      status: 200,
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-request-id": expect.any(String),
      },
    });
    expect(first).toMatchObject({ name: "state", id: firstEtag, data: { state: "draft" } });
    expect(second).toMatchObject({ name: "state", id: secondEtag, data: { state: "review" } });
    const last = { id: await etagOf(id), data: { state: "done", status: "C" } };
    expect(rest).toMatchObject([
      { name: "state", ...last },
      { name: "end", id: last.id },
    ]);
  });

  test("does not repeat what the caller knows, and is 204 when there is nothing left to tell", async () => {
    const id = await loans.begin();
    const events = await readEvents(app, streamPath(id), { "last-event-id": await etagOf(id) });

    await loans.send(id, "submit");
    expect(await events.next()).toMatchObject({ name: "state", data: { state: "review" } });
    await loans.send(id, "approve", {}, { headers: { role: "officer" } });
    const rest = await events.rest();

    expect(rest.map(({ name }) => name)).toEqual(["state", "end"]);
    const again = await app.get(streamPath(id), { "last-event-id": rest.at(-1)!.id! });
    expect(again).toMatchObject({ status: 204, text: "" });
  });

  test("is refused to those who may not look, and tells those for whom that has changed", async () => {
    const id = await loans.begin();
    const events = await readEvents(app, streamPath(id));
    await events.next();

    await loans.send(id, "lock");

    expect(await events.rest()).toMatchObject([
      { name: "problem", data: { status: 403, errorCode: "forbidden.Authorization:110001" } },
    ]);
    expect(codeOf(await app.get(streamPath(id)))).toBe("403 forbidden.Authorization:110001");
    expect(codeOf(await app.get(streamPath("nobody")))).toBe("404 notfound.Instance:100013");
  });

  test("shows each caller what their roles let them see", async () => {
    const id = await loans.begin();
    await loans.send(id, "submit");
    const headers = { role: "officer" };
    const anybody = await readEvents(app, streamPath(id));
    const officer = await readEvents(app, streamPath(id), headers);

    const [seen, seenByOfficer] = [await anybody.next(), await officer.next()];

    expect(transitionsIn(seen)).toEqual(["back", "lock"]);
    expect(transitionsIn(seenByOfficer)).toEqual(["back", "approve", "lock"]);
    expect(seen?.id).toBe(await etagOf(id));
    expect(seenByOfficer?.id).toBe(await etagOf(id, headers));
  });

  test("sends a heartbeat while nothing happens, until the caller goes away", async () => {
    const id = await loans.begin();
    const events = await readEvents(app, streamPath(id));
    await events.next();
    const following = events.next();

    await eventually(() => expect(events.comments).toBeGreaterThan(0));

    await loans.send(id, "submit");
    expect(await following).toMatchObject({ data: { state: "review" } });
    events.close();
    await eventually(async () => expect(await activeRequests()).toBe(1));
  });

  test("tells the last of many changes, however quickly they come", async () => {
    const id = await loans.begin();
    const events = await readEvents(app, streamPath(id));
    await events.next();

    for (let i = 0; i < 30; i += 1) await loans.send(id, i % 2 === 0 ? "submit" : "back");
    await loans.send(id, "submit");
    await loans.send(id, "approve", {}, { headers: { role: "officer" } });

    const rest = await events.rest();
    expect(rest.slice(-2)).toMatchObject([
      { name: "state", data: { state: "done" } },
      { name: "end" },
    ]);
  });
});

const transitionsIn = (event: ReceivedEvent | undefined) =>
  (event?.data as { transitions: { name: string }[] } | undefined)?.transitions.map(
    ({ name }) => name,
  );

test("a server that stops lets everybody go who waits", async () => {
  const node = await startRuntime({ settings: { "Server.ShutdownSeconds": 60 } });
  await node.publish(loan);
  const id = await instancesOf(node, "loan").begin();
  const events = await readEvents(node, streamPath(id));
  const state = await events.next();
  const answer = request(`${node.url}${statePath(id, "?wait=60")}`, {
    headers: { "if-none-match": state!.id! },
  });
  // The stream, the read, and whoever asks.
  await eventually(async () => expect(await activeRequests(node)).toBe(3));
  const begun = performance.now();

  const stopped = node.stop();

  expect(await answer).toMatchObject({ statusCode: 304 });
  expect(await events.rest()).toEqual([]);
  await stopped;
  // Nobody used up the grace.
  expect(performance.now() - begun).toBeLessThan(60_000);
});
