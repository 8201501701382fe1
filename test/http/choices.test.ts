/** What `docs/compatibility.md` says about instances where the specification is silent. */
import { describe, expect, test } from "vitest";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { startRuntime, startRuntimeForFile, type Answer } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

await app.publish(
  aComponent("sys-tasks", "broken", { type: "6", config: { url: "https://x.example" } }),
  aWorkflow("order")
    .state("open")
    .transition("pay", { to: "paid" })
    .transition("guarded", { roles: [{ role: "clerk", grant: "allow" }] })
    .transition("fail", {
      onExecutionTasks: [
        {
          order: 1,
          task: { key: "broken", domain: "core", flow: "sys-tasks", version: "1.0.0" },
          mapping: { type: "G" },
        },
      ],
    })
    .state("paid")
    .transition("ship", { to: "shipped" })
    .state("shipped", { type: "finish", subType: "success" }),
);
const orders = "/api/v1/core/workflows/order/instances";
const start = (body: unknown = {}, headers = {}) =>
  app.post(`${orders}/start?sync=true`, body, headers);
const send = (key: string, transition: string, body: unknown = {}, headers = {}) =>
  app.patch(`${orders}/${key}/transitions/${transition}?sync=true`, body, headers);
const codeOf = ({ status, body }: Answer) =>
  `${status} ${(body as { errorCode: string }).errorCode}`;

test("a key belongs to its instance until that has completed", async () => {
  await start({ key: "K-1" });

  const taken = await start({ key: "K-1" });
  await send("K-1", "pay");
  await send("K-1", "ship");
  const free = await start({ key: "K-1" });

  expect(codeOf(taken)).toBe("409 conflict.Instance:100025");
  expect(taken.body).toMatchObject({ target: "K-1" });
  expect(free.status).toBe(200);
});

test("a transition's key makes a repeat the same outcome and one record", async () => {
  await start({ key: "R-1" });

  const first = await send("R-1", "pay", { key: "once", attributes: { amount: 1 } });
  const again = await send("R-1", "pay", { key: "once", attributes: { amount: 1 } });
  const history = await app.get(`${orders}/R-1/transitions`);

  expect([first.status, again.status]).toEqual([200, 200]);
  expect(again.body).toEqual(first.body);
  expect((history.body as { transitions: unknown[] }).transitions).toHaveLength(2);
});

test("a transition the workflow does not have is 404, one the state does not have is 400", async () => {
  await start({ key: "T-1" });

  expect(codeOf(await send("T-1", "nothing"))).toBe("404 notfound.Transition:100004");
  expect(codeOf(await send("T-1", "ship"))).toBe("400 validation.Transition:100020");
});

test("a synchronous transition whose pipeline faults answers 200 with status F", async () => {
  await start({ key: "F-1" });

  const answer = await send("F-1", "fail");

  expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
});

test("history is an object, and each record has its key under both names", async () => {
  await start({ key: "H-1" });

  const { body } = await app.get(`${orders}/H-1/transitions`);

  expect(body).toMatchObject({
    transitions: [{ transitionKey: "start", transitionId: "start" }],
  });
});

test("an accepted start answers with the key when there is one", async () => {
  const answer = await app.post(`${orders}/start`, { key: "A-1" });

  expect(answer.status).toBe(202);
  expect(answer.body).toEqual({ id: expect.any(String), key: "A-1", status: "B" });
});

describe("the payload mode", () => {
  test.each(["x-service-payload-mode", "x-vnext-payload-mode"])("is read from %s", async (name) => {
    const answer = await start({ key: "no key of ours" }, { [name]: "raw" });

    expect(answer.body).toMatchObject({ attributes: { key: "no key of ours" } });
    expect(answer.body).not.toHaveProperty("key");
  });

  test("takes a body that is no object only when it says raw", async () => {
    expect(await start([1, 2])).toMatchObject({ status: 400 });
  });
});

describe("the roles of a transition", () => {
  test("are enforced", async () => {
    await start({ key: "G-1" });

    expect(codeOf(await send("G-1", "guarded"))).toBe("403 forbidden.Authorization:110001");
    expect(await send("G-1", "guarded", {}, { role: "teller, Clerk" })).toMatchObject({
      status: 200,
    });
  });

  test("are left to the gateway when the switch is off", async () => {
    const open = await startRuntime({
      databaseUrl: app.databaseUrl,
      settings: { "Authorization.EnforceTransitionRoles": false },
    });
    await start({ key: "G-2" });

    const answer = await open.patch(`${orders}/G-2/transitions/guarded?sync=true`, {});

    expect(answer.status).toBe(200);
  });
});

test("definitions are published, never started", async () => {
  const answer = await app.post("/api/v1/core/workflows/sys-flows/instances/start?sync=true", {});

  expect(codeOf(answer)).toBe("400 notsupported.App:900003");
});

test("a definition may refer to what is not published yet", async () => {
  const workflow = aWorkflow("dangling").state("open").schema("published-later");

  const answer = await app.post("/api/v1/definitions/publish", workflow);

  expect(answer.status).toBe(200);
});
