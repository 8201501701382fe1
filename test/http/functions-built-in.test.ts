import { describe, expect, test } from "vitest";
import { allow, aFunction, deny, functionRef, functionTask } from "../support/a-function.ts";
import { aScriptTask, slot, taskWith } from "../support/a-script-slot.ts";
import { aComponent, aSchema, aWorkflow } from "../support/a-workflow.ts";
import { aWebServerForFile } from "../support/a-web-server.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ settings: { "Egress.Allow": ["loopback"] } });
const server = await aWebServerForFile(({ url }, _request, response) => {
  response.writeHead(url === "/broken" ? 418 : 200, { "content-type": "application/json" });
  response.end("{}");
});
const process = (key: string) => ({ key, domain: "core", flow: "sys-flows", version: "1.0.0" });
const mapping = slot(
  "export function InputHandler() { return { Data: {} }; } export function OutputHandler() { return {}; }",
);

await app.publish(
  functionTask,
  aScriptTask("work"),
  aFunction("for-officers", "return {};", { scope: "I", roles: [allow("officer")] }),
  aWorkflow("case")
    .state("draft", { queryRoles: [deny("stranger")] })
    .transition("submit", { to: "review" })
    .state("review", { subType: "human" })
    .transition("approve", { to: "done", roles: [allow("officer"), deny("trainee")] })
    .transition("auto", { to: "done", rule: "false" })
    .state("done", { type: "finish" })
    .state("gone", { type: "finish" })
    .shared("note", { availableIn: ["draft", { state: "review", roles: [allow("officer")] }] })
    .cancel("drop", { to: "gone", roles: [allow("$InstanceStarter")] })
    .with({ queryRoles: [allow("reader")], functions: [functionRef("for-officers")] }),
);
const cases = instancesOf(app, "case");
const on = (id: string, name: string, headers = {}) =>
  app.get(`${cases.path}/${id}/functions/${name}`, headers);
const officer = { role: "officer,reader" };

describe("authorize", () => {
  const inReview = async () => {
    const id = await cases.begin({}, { headers: { act_sub: "ann" } });
    await cases.send(id, "submit");
    return id;
  };

  test.each([
    ["transitionKey=approve", officer, true],
    ["TransitionKey=approve", { role: "officer,trainee" }, false],
    ["transitionKey=approve", {}, false],
    ["transitionKey=approve&role=officer", {}, true],
    ["transitionKey=approve&Role=officer", { role: "customer" }, false],
    ["transitionKey=note", officer, true],
    ["transitionKey=note", { role: "customer" }, false],
    ["transitionKey=submit", officer, false],
    ["transitionKey=auto", officer, false],
    ["transitionKey=nothing", officer, false],
    ["transitionKey=drop", { act_sub: "ann" }, true],
    ["transitionKey=cancel", { act_sub: "ann" }, true],
    ["transitionKey=cancel", { act_sub: "bob" }, false],
    ["functionKey=for-officers", officer, true],
    ["functionKey=for-officers", { role: "customer" }, false],
    ["functionKey=state", { role: "reader" }, true],
    ["functionKey=state", { role: "customer" }, false],
    ["functionKey=catalog", {}, true],
    ["queryRoles=true", { role: "reader" }, true],
    ["QueryRoles=TRUE", { role: "customer" }, false],
  ])("answers %s for %j with %s", async (query, headers, allowed) => {
    const id = await inReview();

    const answer = await on(id, `authorize?${query}`, headers);

    expect(answer).toMatchObject({ status: allowed ? 200 : 403, body: { allowed } });
    expect(answer.headers["content-type"]).toContain("application/json");
  });

  test.each([
    "",
    "queryRoles=false",
    "transitionKey=a&functionKey=b",
    "transitionKey=a&queryRoles=true",
  ])("is 400 unless exactly one thing is asked: '%s'", async (query) => {
    const id = await inReview();

    expect(codeOf(await on(id, `authorize?${query}`))).toBe("400 validation.Authorization:110002");
  });

  test("agrees with the list of the state function and with what is really refused", async () => {
    for (const headers of [
      officer,
      { role: "reader" },
      { role: "reader,officer,trainee" },
      { role: "reader", act_sub: "ann" },
    ]) {
      const id = await inReview();
      const state = (await on(id, "state", headers)).body as { transitions: { key: string }[] };
      const listed = state.transitions.map(({ key }) => key);
      for (const key of ["note", "approve", "drop"]) {
        const asked = await on(id, `authorize?transitionKey=${key}`, headers);
        expect([key, asked.status]).toEqual([key, listed.includes(key) ? 200 : 403]);
      }
      for (const key of ["note", "approve", "drop"]) {
        const other = await inReview();
        const sent = await cases.send(other, key, {}, { headers });
        expect([key, sent.status]).toEqual([key, listed.includes(key) ? 200 : 403]);
      }
    }
  });

  test("explains rule by rule", async () => {
    const id = await inReview();

    const refused = await on(id, "authorize?transitionKey=approve&explain=true", {
      role: "officer,trainee",
    });
    const away = await on(id, "authorize?transitionKey=submit&explain=true", officer);
    const named = await on(id, "authorize?functionKey=for-officers&explain=true", officer);
    const query = await on(id, "authorize?queryRoles=true&explain=true", { role: "customer" });

    expect(refused).toMatchObject({
      status: 403,
      body: {
        allowed: false,
        target: { transition: "approve", instance: id, state: "review" },
        caller: { roles: ["officer", "trainee"] },
        checks: [
          { check: "available", allowed: true },
          {
            check: "roles",
            allowed: false,
            reason: "denied",
            rules: [
              { grant: "allow", matched: true, roles: [{ role: "officer", matched: true }] },
              { grant: "deny", matched: true, roles: [{ role: "trainee", matched: true }] },
            ],
          },
        ],
      },
    });
    expect(away.body).toMatchObject({
      allowed: false,
      checks: [{ check: "available", allowed: false, code: "validation.Transition:100020" }],
    });
    expect(named.body).toMatchObject({
      allowed: true,
      checks: [
        { check: "scope", allowed: true },
        { check: "roles", reason: "allowed" },
      ],
    });
    expect(query.body).toMatchObject({
      allowed: false,
      checks: [{ check: "queryRoles", reason: "noAllowMatched" }],
    });
  });
});

describe("permissions", () => {
  test("are what the workflow declares", async () => {
    const id = await cases.begin({});

    const { body } = await on(id, "permissions");

    expect(body).toMatchObject({
      workflow: "case",
      queryRoles: [allow("reader")],
      states: [
        { key: "draft", queryRoles: [deny("stranger")] },
        { key: "review", queryRoles: [] },
        {},
        {},
      ],
      functions: [{ key: "for-officers", roles: [allow("officer")] }],
    });
    const { transitions } = body as { transitions: { key: string }[] };
    expect(transitions.map(({ key }) => key)).toEqual([
      "start",
      "submit",
      "approve",
      "auto",
      "note",
      "drop",
    ]);
    expect(transitions[2]).toEqual({
      key: "approve",
      from: "review",
      target: "done",
      roles: [allow("officer"), deny("trainee")],
    });
  });
});

describe("data", async () => {
  await app.publish(
    aSchema("case-data", {
      type: "object",
      properties: { limit: { "x-roles": [allow("officer")] } },
    }),
    aWorkflow("kept").state("here").transition("add", {}).schema("case-data"),
  );
  const kept = instancesOf(app, "kept");
  const path = (id: string, query = "") => `${kept.path}/${id}/functions/data${query}`;

  test("are the latest, number for number, or those of a version, with their own ETags", async () => {
    const id = await kept.begin('{"amount":10.50}');
    await kept.send(id, "add", { more: 1 });

    const now = await app.get(path(id));
    const then = await app.get(path(id, "?Version=1.0.0"));

    expect(now.text).toContain('"amount":10.50');
    expect(now.body).toMatchObject({
      extensions: {},
      eTag: now.headers["etag"],
      entityEtag: now.headers["x-entity-etag"],
    });
    expect(then.body).toMatchObject({ data: { amount: 10.5 } });
    expect(then.headers["etag"]).not.toBe(now.headers["etag"]);
    expect((await app.get(`${kept.path}/${id}/data`)).text).toBe(now.text);
    expect(codeOf(await app.get(path(id, "?version=7")))).toBe("404 notfound.Instance:100013");
  });

  test("are 304 until they change, and differ for who sees other fields", async () => {
    const id = await kept.begin({ limit: 5, name: "n" });
    const officers = await app.get(path(id), { role: "officer" });
    const others = await app.get(path(id));
    const again = (tag: string | undefined, headers = {}) =>
      app.get(path(id), { ...headers, "if-none-match": tag ?? "" });

    expect(officers.body).toMatchObject({ data: { limit: 5, name: "n" } });
    expect((others.body as { data: object }).data).toEqual({ name: "n" });
    expect((await again(others.headers["etag"])).status).toBe(304);
    expect((await again(others.headers["etag"], { role: "officer" })).status).toBe(200);
    await kept.send(id, "add", { name: "m" });
    expect((await again(others.headers["etag"])).status).toBe(200);
  });

  test("are absent where there are none", async () => {
    const answer = await kept.start();
    const id = (answer.body as { id: string }).id;

    expect((await app.get(path(id))).status).toBe(200);
  });
});

describe("hierarchy", async () => {
  await app.publish(
    aWorkflow("leaf")
      .state("waits")
      .transition("end", { to: "over" })
      .state("over", { type: "finish" }),
    aWorkflow("middle")
      .state("in-leaf", {
        type: "initial",
        subFlow: { type: "S", process: process("leaf"), mapping },
      })
      .transition("next", { to: "over", rule: "true" })
      .state("over", { type: "finish" }),
    aWorkflow("top")
      .state("open")
      .transition("go", { to: "in-middle" })
      .state("in-middle", {
        type: "subFlow",
        subFlow: { type: "S", process: process("middle"), mapping },
      })
      .transition("next", { to: "over", rule: "true" })
      .state("over", { type: "finish" }),
  );
  const tops = instancesOf(app, "top");

  test.each(["hierarchy", "instance-correlation"])(
    "(%s) is the tree below the instance",
    async (name) => {
      const id = await tops.begin({ attributes: {}, key: `T-${name}` });
      await tops.send(id, "go");

      const { body } = await app.get(`${tops.path}/${id}/functions/${name}`);

      expect(body).toMatchObject({
        root: {
          id,
          key: `T-${name}`,
          flow: "top",
          domain: "core",
          flowVersion: "1.0.0",
          currentState: "in-middle",
          status: "B",
          isCompleted: false,
          children: [
            {
              flow: "middle",
              subFlowType: "S",
              parentState: "in-middle",
              status: "B",
              isCompleted: false,
              children: [{ flow: "leaf", currentState: "waits", status: "A", children: [] }],
            },
          ],
        },
      });
      await tops.send(id, "end");
      expect((await app.get(`${tops.path}/${id}/functions/${name}`)).body).toMatchObject({
        root: {
          isCompleted: true,
          children: [{ isCompleted: true, children: [{ isCompleted: true }] }],
        },
      });
    },
  );
});

describe("tasks and actions", async () => {
  const http = (key: string, url: string) =>
    aComponent("sys-tasks", key, {
      type: "6",
      config: { url: `${server.url}${url}`, method: "GET" },
    });
  await app.publish(
    http("ask-well", "/well"),
    http("ask-broken", "/broken"),
    aWorkflow("calling")
      .state("here")
      .transition("call", {
        to: "there",
        onExecutionTasks: [
          taskWith("ask-well", { type: "G" }),
          taskWith("ask-broken", { type: "G" }, 2),
        ],
      })
      .state("there"),
  );
  const calls = instancesOf(app, "calling");

  test("tell what an instance's tasks did outside, oldest first", async () => {
    const id = await calls.begin({});
    await calls.send(id, "call");
    const fn = (name: string) => app.get(`${calls.path}/${id}/functions/${name}`);

    const { items } = (await fn("tasks")).body as { items: { id: string }[] };

    expect(items).toMatchObject([
      {
        taskKey: "ask-well",
        transitionKey: "call",
        fromState: "here",
        triggerType: "manual",
        hook: "onExecute",
        order: 1,
        status: "completed",
        businessStatus: "success",
      },
      {
        taskKey: "ask-broken",
        order: 2,
        status: "faulted",
        businessStatus: "failed",
        error: expect.stringContaining("ask-broken") as string,
      },
    ]);
    expect((await fn(`actions?taskId=${items[1]?.id}`)).body).toMatchObject({
      taskId: items[1]?.id,
      taskKey: "ask-broken",
      items: [{ status: "faulted", detail: expect.stringContaining("attempt 1") as string }],
    });
    expect(codeOf(await fn("actions"))).toBe("400 validation.Instance:100039");
    expect(codeOf(await fn(`actions?taskId=${id}`))).toBe("404 notfound.Instance:100038");
  });
});

describe("human-task", async () => {
  await app.publish(
    aSchema(
      "task-data",
      {
        type: "object",
        properties: {
          humanTask: { properties: { description: { "x-roles": [allow("officer")] } } },
        },
      },
      { domain: "people" },
    ),
    aWorkflow("approval")
      .in("people")
      .state("wait", { type: "initial", subType: "human" })
      .transition("approve", { to: "over", roles: [allow("officer")] })
      .transition("appeal", { to: "over", roles: [allow("$InstanceStarter")] })
      .state("over", { type: "finish" })
      .schema("task-data"),
    aWorkflow("outer")
      .in("people")
      .state("open")
      .transition("go", { to: "inside" })
      .state("inside", {
        type: "subFlow",
        subFlow: { type: "S", process: { ...process("approval"), domain: "people" }, mapping },
      })
      .transition("next", { to: "over", rule: "true" })
      .state("over", { type: "finish" }),
  );
  const approvals = instancesOf(app, "approval", "people");
  const outers = instancesOf(app, "outer", "people");
  const tasks = async (headers = {}) =>
    (await app.get("/api/v1/people/functions/human-task", headers)).body;

  test("lists what waits for somebody who may do something, newest first", async () => {
    const first = await approvals.begin(
      { attributes: { humanTask: { title: "Approve it", description: "of 10" } }, key: "A-1" },
      { headers: { act_sub: "ann" } },
    );
    const second = await approvals.begin({}, { headers: { act_sub: "bob" } });
    const outer = await outers.begin({});
    await outers.send(outer, "go");

    expect(await tasks({ role: "officer" })).toMatchObject([
      { instanceId: outer, workflow: "outer", title: "outer", vNext: true },
      { instanceId: second, workflow: "approval", title: "approval" },
      { instanceId: "A-1", title: "Approve it", description: "of 10" },
    ]);
    expect(await tasks({ act_sub: "ann" })).toEqual([
      {
        id: first,
        instanceId: "A-1",
        workflow: "approval",
        title: "Approve it",
        createdAt: expect.any(String) as string,
        vNext: true,
      },
    ]);
    expect(await tasks()).toEqual([]);
    await approvals.send("A-1", "approve", {}, { headers: { role: "officer" } });
    expect(await tasks({ act_sub: "ann" })).toEqual([]);
    expect((await app.get("/api/v1/people/functions/human-task/info")).status).toBe(404);
  });

  test("is cut after 200, and says so", async () => {
    await app.publish(
      aWorkflow("crowd")
        .in("crowded")
        .state("wait", { type: "initial", subType: "human" })
        .transition("act"),
    );
    const crowd = instancesOf(app, "crowd", "crowded");
    const path = "/api/v1/crowded/functions/human-task";
    const begin = (count: number) =>
      Promise.all(Array.from({ length: count }, () => crowd.begin({})));
    await begin(200);
    const whole = await app.get(path);
    await begin(1);

    const cut = await app.get(path);

    expect([whole.body, cut.body].map((list) => (list as object[]).length)).toEqual([200, 200]);
    expect(whole.headers).not.toHaveProperty("x-vnext-humantask-truncated");
    expect(cut.headers["x-vnext-humantask-truncated"]).toBe("true");
  });
});
