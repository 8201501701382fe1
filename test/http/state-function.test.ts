import { describe, expect, test } from "vitest";
import { aWorkflow, aComponent, aSchema, expression } from "../support/a-workflow.ts";
import { aScriptTask, output, slot, taskWith } from "../support/a-script-slot.ts";
import { codeOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile, type Answer } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

const viewRef = (key: string) => ({ key, domain: "core", flow: "sys-views", version: "latest" });
const functionRef = (key: string) => ({
  key,
  domain: "core",
  flow: "sys-functions",
  version: "latest",
});
const allow = (role: string) => ({ role, grant: "allow" });
const deny = (role: string) => ({ role, grant: "deny" });

await app.publish(
  aSchema("decision", { type: "object", required: ["note"] }),
  aComponent("sys-views", "review-page", {
    type: 1,
    content: { title: "Review" },
    renderer: "pseudo-ui",
  }),
  aComponent("sys-views", "approve-form", { type: 1, content: {}, renderer: "flutter" }),
  aWorkflow("loan")
    .state("draft")
    .transition("submit", { to: "review" })
    .state("review", {
      view: { view: viewRef("review-page"), loadData: true, extensions: ["customer", "limits"] },
      alias: [
        {
          name: "checking",
          roles: [allow("customer")],
          labels: [
            { label: "We look", language: "en" },
            { label: "Wir prüfen", language: "de" },
          ],
        },
        { name: "inbox", roles: [allow("officer")], labels: [{ label: "Inbox", language: "en" }] },
      ],
    })
    .transition("approve", {
      to: "done",
      roles: [allow("officer")],
      schema: "decision",
      view: { view: viewRef("approve-form") },
      annotations: { "ui/priority": "10", "UI/Intent": "confirm" },
    })
    .transition("withdraw", { to: "done", roles: [deny("officer")] })
    .transition("small", { to: "done", rule: "context.Instance.Data.amount == 1" })
    .transition("remind", { to: "$self", timer: "PT2H", annotations: { why: "late" } })
    .transition("expire", { to: "done", timer: "PT1H" })
    .state("done", { type: "finish", subType: "success" })
    .state("gone", { type: "finish", subType: "cancelled" })
    .shared("note", { availableIn: ["review"] })
    .shared("tag", { availableIn: [{ state: "review", roles: [allow("officer")] }] })
    .shared("reopen", { availableIn: ["done"] })
    .cancel("drop", { to: "gone" })
    .updateData("amend", { availableIn: ["review"] })
    .exit("leave", { to: "gone", availableIn: ["draft"] })
    .with({ functions: [functionRef("anything")] }),
);
const loans = instancesOf(app, "loan");

interface Item {
  name: string;
  key: string;
  kind: string;
  href?: string;
  executeAtUtc?: string;
  view: Record<string, unknown>;
  schema: Record<string, unknown>;
  annotations: Record<string, string>;
}
interface State {
  data: { href: string };
  hasView: boolean;
  view: Record<string, unknown>;
  state: string;
  stateType: string;
  status: string;
  transitions: Item[];
  availableTransitions: Item[];
  activeCorrelations: Record<string, unknown>[];
  correlations: Record<string, unknown>[];
  interaction?: Record<string, unknown>;
  incident: Record<string, unknown>;
  eTag: string;
  entityEtag: string;
}
const officer = { role: "officer" };
const customer = { role: "customer" };
const at = (id: string, query = "", path = loans.path) => `${path}/${id}/functions/state${query}`;
const stateOf = async (id: string, headers: Record<string, string> = {}, path = loans.path) => {
  const answer = await app.get(at(id, "", path), headers);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as State;
};
const names = ({ transitions }: State) => transitions.map(({ name, kind }) => `${kind} ${name}`);
const inReview = async (data: object = { amount: 7 }) => {
  const id = await loans.begin(data);
  expect(await loans.send(id, "submit")).toMatchObject({ status: 200 });
  return id;
};

describe("the state function", () => {
  test("says where the instance stands, what may be done, and where everything else is", async () => {
    const id = await inReview();

    const state = await stateOf(id, officer);

    const base = `/api/v1/core/workflows/loan/instances/${id}`;
    expect(state).toMatchObject({
      data: { href: `${base}/functions/data?extensions=customer&extensions=limits` },
      hasView: true,
      view: {
        hasView: true,
        loadData: true,
        renderer: "pseudo-ui",
        href: `${base}/functions/view`,
      },
      master: { href: `${base}/functions/master` },
      state: "Inbox",
      stateType: "intermediate",
      status: "A",
      activeCorrelations: [],
      correlations: [],
      functions: { hasFunctions: true, href: `${base}/functions/catalog` },
      incident: { hasActiveIncident: false, history: { href: `${base}/incidents` } },
    });
    expect(state.availableTransitions).toEqual(state.transitions);
    expect(state.transitions[0]).toEqual({
      name: "approve",
      key: "approve",
      kind: "stateTransition",
      href: `${base}/transitions/approve`,
      view: {
        hasView: true,
        loadData: false,
        renderer: "flutter",
        href: `${base}/functions/view?transitionKey=approve`,
      },
      schema: { hasSchema: true, href: `${base}/functions/schema?transitionKey=approve` },
      annotations: { "ui/priority": "10", "UI/Intent": "confirm" },
    });
    expect(state.transitions[1]).toMatchObject({
      name: "note",
      view: { hasView: false, loadData: true },
      schema: { hasSchema: false },
      annotations: {},
    });
  });

  test("lists the state's own, shared, then cancel, updateData and exit, as roles and availableIn allow; timers come last, by time", async () => {
    const id = await inReview();

    expect(names(await stateOf(id, officer))).toEqual([
      "stateTransition approve",
      "sharedTransition note",
      "sharedTransition tag",
      "cancel drop",
      "updateData amend",
      "scheduled expire",
      "scheduled remind",
    ]);
    expect(names(await stateOf(id, customer))).toEqual([
      "stateTransition withdraw",
      "sharedTransition note",
      "cancel drop",
      "updateData amend",
      "scheduled expire",
      "scheduled remind",
    ]);
    expect(names(await stateOf(await loans.begin({})))).toEqual([
      "stateTransition submit",
      "cancel drop",
      "exit leave",
    ]);
  });

  test("tells when a timer fires, with the addresses that clients expect of every entry", async () => {
    const before = Date.now();
    const id = await inReview();

    const { transitions } = await stateOf(id);

    const here = `${loans.path}/${id}`;
    const expire = transitions.find(({ name }) => name === "expire");
    expect(expire).toMatchObject({
      href: `${here}/transitions/expire`,
      view: {
        hasView: false,
        loadData: false,
        href: `${here}/functions/view?transitionKey=expire`,
      },
      schema: { hasSchema: false, href: `${here}/functions/schema?transitionKey=expire` },
    });
    expect(Date.parse(expire?.executeAtUtc ?? "")).toBeGreaterThanOrEqual(before + 3_599_000);
    expect(transitions.at(-1)).toMatchObject({ name: "remind", annotations: { why: "late" } });
  });

  test.each([
    [customer, undefined, "We look"],
    [customer, "de-AT, en;q=0.5", "Wir prüfen"],
    [{ role: "officer,customer" }, undefined, "We look"],
    [{ role: "somebody" }, undefined, "review"],
  ])("shows %j with the language %j the state as %j", async (who, language, shown) => {
    const id = await inReview();

    const headers = { ...who, ...(language === undefined ? {} : { "accept-language": language }) };
    expect((await stateOf(id, headers as Record<string, string>)).state).toBe(shown);
  });

  test("asks for the extensions of the request as well, each once", async () => {
    const id = await inReview();

    const answer = await app.get(at(id, "?Extensions=mine,customer&extensions=too"));

    expect((answer.body as State).data.href).toMatch(
      /\?extensions=mine&extensions=customer&extensions=too&extensions=limits$/,
    );
  });

  test("has no transitions, no timers and the final state once the instance has ended", async () => {
    const id = await inReview();
    await loans.send(id, "drop");

    expect(await stateOf(id)).toMatchObject({ state: "gone", status: "C", transitions: [] });
  });

  test("offers no transition whose key means another one", async () => {
    await app.publish(
      aWorkflow("shadowed")
        .state("here")
        .transition("cancel", { to: "over" })
        .transition("note", { to: "over" })
        .state("over", { type: "finish" })
        .shared("note", { to: "$self" })
        .shared("DROP", { to: "$self" })
        .cancel("drop", { to: "over" }),
    );
    const shadowed = instancesOf(app, "shadowed");
    const id = await shadowed.begin({});

    expect(names(await stateOf(id, {}, shadowed.path))).toEqual([
      "stateTransition note",
      "cancel drop",
    ]);
  });

  test("lists a subprocess that a task started among the children", async () => {
    await app.publish(
      aWorkflow("side-work").state("waits"),
      aComponent("sys-tasks", "start-side-work", {
        type: "14",
        config: { domain: "core", flow: "side-work", sync: true },
      }),
      aWorkflow("main-work")
        .state("here")
        .transition("go", { onExecutionTasks: [taskWith("start-side-work", { type: "G" })] }),
    );
    const mains = instancesOf(app, "main-work");
    const id = await mains.begin({});
    await mains.send(id, "go");

    expect(await stateOf(id, {}, mains.path)).toMatchObject({
      state: "here",
      status: "A",
      correlations: [{ subFlowName: "side-work", subFlowType: "P" }],
    });
  });

  test("is the same by key, by POST, and in any letter case", async () => {
    const id = await loans.begin({ attributes: {}, key: "by-key" });
    const expected = (await app.get(at(id))).body;

    expect((await app.get(at("by-key"))).body).toEqual(expected);
    expect((await app.post(`${loans.path}/by-key/functions/STATE`)).body).toEqual(expected);
  });

  test("is 404 for an unknown instance and an unknown workflow", async () => {
    expect(codeOf(await app.get(at("nobody")))).toBe("404 notfound.Instance:100013");
    expect(codeOf(await app.get(at("x", "", "/api/v1/core/workflows/none/instances")))).toBe(
      "404 notfound.Cache:300001",
    );
  });
});

describe("the ETag of the state", () => {
  const conditional = (id: string, { headers }: Answer, who: Record<string, string> = {}) =>
    app.get(at(id), { ...who, "if-none-match": headers["etag"] ?? "" });

  test("is in the header and in the body, and answers 304 without a body while nothing changes", async () => {
    const id = await inReview();
    const first = await app.get(at(id), officer);

    const again = await conditional(id, first, officer);

    expect(first.headers["etag"]).toMatch(/^"[0-9a-f]{32}"$/);
    expect((first.body as State).eTag).toBe(first.headers["etag"]);
    expect(first.headers["x-entity-etag"]).toBe((first.body as State).entityEtag);
    expect(again).toMatchObject({ status: 304, body: undefined });
    expect(again.headers["etag"]).toBe(first.headers["etag"]);
    expect(again.headers["x-entity-etag"]).toBe(first.headers["x-entity-etag"]);
  });

  test("is of GET alone", async () => {
    const id = await inReview();
    const first = await app.get(at(id));

    const post = await app.post(at(id), undefined, {
      "if-none-match": first.headers["etag"] ?? "",
    });

    expect(post.status).toBe(200);
  });

  test("moves with the state and with whoever sees another list, not with data alone", async () => {
    const id = await inReview();
    const first = await app.get(at(id), customer);

    await loans.send(id, "amend", { text: "x" });
    expect((await conditional(id, first, customer)).status).toBe(304);
    expect((await conditional(id, first, officer)).status).toBe(200);
    await loans.send(id, "drop");

    expect((await conditional(id, first, customer)).status).toBe(200);
  });

  test("moves with the language where that is seen", async () => {
    const id = await inReview();
    const english = await app.get(at(id), customer);

    const german = await conditional(id, english, { ...customer, "accept-language": "de" });

    expect(german.status).toBe(200);
  });
});

describe("queryRoles", () => {
  test("of the state, else of the workflow, keep others out of every built-in read", async () => {
    await app.publish(
      aSchema("secret-data", { type: "object" }),
      aWorkflow("secret")
        .state("open", { queryRoles: [allow("reader")] })
        .transition("close", { to: "closed" })
        .state("closed")
        .schema("secret-data")
        .with({ queryRoles: [allow("auditor")] }),
    );
    const secrets = instancesOf(app, "secret");
    const id = await secrets.begin({});
    const functions = [
      "state",
      "data",
      "schema?transitionKey=close",
      "view",
      "master",
      "extensions",
      "hierarchy",
      "tasks",
      "actions?taskId=x",
    ];
    const codes = async (role: string) => {
      const answers = functions.map((name) =>
        app.get(`${secrets.path}/${id}/functions/${name}`, { role }),
      );
      return (await Promise.all(answers)).filter(({ status }) => status === 403).length;
    };

    expect([await codes("auditor"), await codes("reader")]).toEqual([functions.length, 0]);
    await secrets.send(id, "close");
    expect([await codes("auditor"), await codes("reader")]).toEqual([0, functions.length]);
    expect(codeOf(await app.get(at(id, "", secrets.path)))).toBe(
      "403 forbidden.Authorization:110001",
    );
  });
});

describe("a long poll that ends in the state", () => {
  test("is told to those it is for, with where to acknowledge it", async () => {
    await app.publish(
      aWorkflow("paying")
        .state("draft")
        .transition("pay", { to: "paid" })
        .state("paid", {
          interaction: {
            longPoll: { terminate: true, fallbackTimeoutSeconds: 40, roles: [allow("app")] },
          },
        })
        .transition("auto", { to: "shown", rule: "true" })
        .state("shown", {
          interaction: {
            longPoll: {
              terminate: false,
              rule: expression('context.Headers["x-device"] == "phone"'),
            },
          },
        }),
    );
    const payments = instancesOf(app, "paying");
    const id = await payments.begin({});
    await payments.send(id, "pay", {}, { headers: { role: "app" } });

    const paused = await stateOf(id, { role: "app" }, payments.path);

    expect(paused).toMatchObject({
      state: "paid",
      status: "B",
      transitions: [],
      interaction: {
        terminateLongPoll: true,
        fallbackTimeoutSeconds: 40,
        ack: { href: `${payments.path}/${id}/longpoll/ack` },
      },
    });
    expect(await stateOf(id, {}, payments.path)).not.toHaveProperty("interaction");

    const other = await payments.begin({});
    await payments.send(other, "pay");
    expect(await stateOf(other, { "x-device": "phone" }, payments.path)).toMatchObject({
      state: "shown",
      interaction: { terminateLongPoll: false, fallbackTimeoutSeconds: 60 },
    });
    expect(await stateOf(other, {}, payments.path)).not.toHaveProperty("interaction");
  });
});

describe("a faulted instance", () => {
  test("says so, and where its incident is", async () => {
    await app.publish(
      aScriptTask("work"),
      aWorkflow("breaking")
        .state("here")
        .transition("break", {
          to: "there",
          onExecutionTasks: [taskWith("work", output("throw new Error('broken');"))],
        })
        .state("there"),
    );
    const flows = instancesOf(app, "breaking");
    const id = await flows.begin({});
    const before = await app.get(at(id, "", flows.path));
    await flows.send(id, "break");

    const known = { "if-none-match": before.headers["etag"] ?? "" };
    const after = await app.get(at(id, "", flows.path), known);

    expect(after).toMatchObject({
      status: 200,
      body: {
        status: "F",
        transitions: [],
        incident: {
          hasActiveIncident: true,
          active: { href: `${flows.path}/${id}/incidents/active` },
          history: { href: `${flows.path}/${id}/incidents` },
        },
      },
    });
    expect((await app.get(`${flows.path}/${id}/incidents/active`)).status).toBe(200);
  });
});

describe("a wizard state", () => {
  test("shows the view of its one way on as its own", async () => {
    await app.publish(
      aWorkflow("guided")
        .state("step", { type: "initial" })
        .transition("begin", { to: "form" })
        .state("form", { type: "wizard", view: { view: viewRef("review-page") } })
        .transition("next", {
          to: "end",
          view: { view: viewRef("approve-form"), loadData: true },
          roles: [allow("customer")],
        })
        .state("end", { type: "finish" }),
    );
    const wizards = instancesOf(app, "guided");
    const id = await wizards.begin({});
    await wizards.send(id, "begin");

    expect(await stateOf(id, customer, wizards.path)).toMatchObject({
      stateType: "wizard",
      view: { hasView: true, loadData: true, renderer: "flutter" },
      transitions: [{ name: "next", view: { hasView: false } }],
    });
    expect(await stateOf(id, {}, wizards.path)).toMatchObject({
      view: { hasView: true, loadData: false, renderer: "pseudo-ui" },
      transitions: [],
    });
  });
});

describe("an instance with an open subflow", async () => {
  const process = (key: string) => ({ key, domain: "core", flow: "sys-flows", version: "1.0.0" });
  const mapping = slot(`
    export function InputHandler() { return { Data: {} }; }
    export function OutputHandler() { return { Data: {} }; }
  `);
  await app.publish(
    aWorkflow("otp")
      .state("asked", {
        type: "initial",
        subType: "human",
        view: { view: viewRef("approve-form") },
        alias: [{ name: "x", roles: [allow("customer")], labels: [] }],
      })
      .transition("confirm", { to: "ok", schema: "decision", roles: [allow("nobody")] })
      .transition("resend", { to: "$self", roles: [allow("customer")] })
      .transition("late", { to: "ok", timer: "PT3H" })
      .state("ok", { type: "finish" })
      .state("off", { type: "finish" })
      .cancel("drop-otp", { to: "off" })
      .shared("note", { roles: [] }),
    aWorkflow("transfer")
      .state("open")
      .transition("go", { to: "secured" })
      .state("secured", {
        type: "subFlow",
        subFlow: {
          type: "S",
          process: process("otp"),
          mapping,
          overrides: { transitions: { confirm: { roles: [allow("customer")] } } },
        },
      })
      .transition("after", { to: "sent", rule: "true" })
      .transition("slow", { to: "sent", timer: "PT1H" })
      .state("sent", { type: "finish" })
      .state("gone", { type: "finish", subType: "cancelled" })
      .cancel("drop", { to: "gone", roles: [allow("customer")] })
      .updateData("amend")
      .shared("note", {})
      .shared("jump", { to: "sent" }),
  );
  const transfers = instancesOf(app, "transfer");

  test("shows the subflow's state and transitions beside its own, all at its own address", async () => {
    const id = await transfers.begin({});
    await transfers.send(id, "go");

    const state = await stateOf(id, customer, transfers.path);

    expect(state).toMatchObject({
      state: "asked",
      stateType: "initial",
      status: "A",
      hasView: true,
    });
    expect(names(state)).toEqual([
      "stateTransition confirm",
      "stateTransition resend",
      "cancel drop-otp",
      "sharedTransition note",
      "cancel drop",
      "updateData amend",
      "scheduled slow",
      "scheduled late",
    ]);
    for (const { href } of state.transitions) {
      if (href !== undefined) expect(href).toContain(`/transfer/instances/${id}/transitions/`);
    }
    expect(names(await stateOf(id, {}, transfers.path))).not.toContain("cancel drop");
  });

  test("lists its children, and those that are still open apart", async () => {
    const id = await transfers.begin({});
    await transfers.send(id, "go");

    const { activeCorrelations, correlations } = await stateOf(id, customer, transfers.path);

    const child = String(activeCorrelations[0]?.["subFlowInstanceId"]);
    expect(activeCorrelations).toMatchObject([
      {
        parentState: "secured",
        subFlowType: "S",
        subFlowDomain: "core",
        subFlowName: "otp",
        subFlowVersion: "1.0.0",
        isCompleted: false,
        status: "A",
        currentState: "asked",
        href: `/api/v1/core/workflows/otp/instances/${child}/functions/data`,
      },
    ]);
    expect(correlations).toMatchObject([{ subFlowInstanceId: child, isCompleted: false }]);
    await transfers.send(id, "confirm", { note: "1" }, { headers: customer });
    const after = await stateOf(id, customer, transfers.path);
    expect(after).toMatchObject({ state: "sent", status: "C", activeCorrelations: [] });
    expect(after.correlations).toMatchObject([{ isCompleted: true, terminalOutcome: "completed" }]);
  });

  test("has another ETag as soon as its subflow looks different", async () => {
    const id = await transfers.begin({});
    await transfers.send(id, "go");
    const first = await app.get(at(id, "", transfers.path), customer);

    await transfers.send(id, "drop-otp", {}, { headers: customer });

    const next = await app.get(at(id, "", transfers.path), {
      ...customer,
      "if-none-match": first.headers["etag"] ?? "",
    });
    expect(next.status).toBe(200);
  });

  test("whatever it offers can be sent, and nothing else", async () => {
    const id = await transfers.begin({});
    await transfers.send(id, "go");
    const offered = (await stateOf(id, customer, transfers.path)).transitions
      .filter(({ kind }) => kind !== "scheduled")
      .map(({ name }) => name);

    const asked = ["confirm", "resend", "drop-otp", "note", "drop", "amend", "jump", "after"];
    const allowed = [];
    for (const key of asked) {
      const answer = await app.get(
        `${transfers.path}/${id}/functions/authorize?transitionKey=${key}`,
        customer,
      );
      if (answer.status === 200) allowed.push(key);
    }

    expect(allowed).toEqual(offered);
    expect(codeOf(await transfers.send(id, "jump", {}, { headers: customer }))).toBe(
      "400 validation.Transition:100023",
    );
    expect(codeOf(await transfers.send(id, "confirm", { note: "" }))).toBe(
      "403 forbidden.Authorization:110001",
    );
  });
});
