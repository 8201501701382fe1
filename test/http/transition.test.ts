import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, idOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());

const event = { mapping: { encoding: "NAT", code: "x" } };
const bare = aWorkflow("bare")
  .state("draft")
  .transition("submit", { to: "review", schema: "submission" })
  .transition("remind", { timer: "PT1H" })
  .transition("jump", { to: "done", rule: "context.Instance.Data.jump == true" })
  .transition("callback", { to: "review", triggerType: "event", event })
  .transition("hang", { to: "busy" })
  .transition("park", { to: "parked" })
  .state("review")
  .transition("approve", { to: "done" })
  .transition("expire", { to: "done", timer: "PT1H" })
  .state("busy", { subType: "busy" })
  .transition("free", { to: "draft" })
  .state("parked")
  .transition("leave-it", { to: "done", rule: "context.Instance.Data.go == true" })
  .state("done", { type: "finish", subType: "success" })
  .state("gone", { type: "finish", subType: "cancelled" })
  .shared("note")
  .shared("note-anywhere", { availableIn: ["all"] })
  .shared("approve-all", { to: "done", availableIn: ["review"] });

const full = (key: string) => {
  const { attributes, ...rest } = bare
    .cancel("withdraw", { to: "gone" })
    .exit("finish-early", { to: "review", availableIn: ["review", "busy", "parked"] })
    .updateData("amend")
    .timeout("too-late", { to: "gone", after: "P1D" })
    .build();
  return { ...rest, key, attributes };
};
await app.publish(
  aSchema("submission", {
    type: "object",
    required: ["amount"],
    properties: {
      amount: { type: "integer", minimum: 1 },
      customer: { type: "object", properties: { ownerUserId: { type: "string" } } },
      items: { type: "array", items: { type: "object", required: ["name"] } },
    },
    additionalProperties: false,
  }),
  bare,
  full("full"),
);
const plain = instancesOf(app, "bare");
const loans = instancesOf(app, "full");

const jobsOf = async (id: string) =>
  (await database.query<{ kind: string }>("select kind from job where instance_id = $1", [id])).rows
    .map((row) => row.kind)
    .toSorted();

describe("the answer", () => {
  test("with sync=true is 200 and the whole envelope, settled", async () => {
    const id = await loans.begin({ key: "A-1", attributes: { a: 1 } });

    const answer = await loans.send("A-1", "submit", { attributes: { amount: 2 } });

    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      id,
      key: "A-1",
      status: "A",
      attributes: { a: 1, amount: 2 },
      eTag: expect.stringMatching(/^"[\w-]{43}"$/),
      entityEtag: expect.stringMatching(/^"[0-9A-Z]{26}"$/),
      extensions: {},
    });
    expect(answer.headers["x-workflow"]).toBe(`core,full,1.0.0,${id}`);
  });

  test("without sync is 202 with id, key and status B", async () => {
    const id = await loans.begin({ key: "A-2" });

    const answer = await loans.send(id, "submit", { amount: 2 }, { query: "" });

    expect(answer).toMatchObject({ status: 202 });
    expect(answer.body).toEqual({ id, key: "A-2", status: "B" });
    await eventually(async () => {
      expect(await loans.read(id)).toMatchObject({
        metadata: { status: "A", currentState: "review" },
        attributes: { amount: 2 },
      });
    });
  });

  test("is C when a finish state is reached", async () => {
    const id = await loans.begin();
    await loans.send(id, "callback");

    const answer = await loans.send(id, "approve");

    expect(answer).toMatchObject({ status: 200, body: { status: "C" } });
    const { metadata } = await loans.read(id);
    expect(metadata).toMatchObject({
      status: "C",
      currentState: "done",
      completedAt: expect.stringMatching(/Z$/),
      duration: expect.any(Number),
    });
  });

  test("to a request without a body is that of one without data", async () => {
    const id = await loans.begin({ attributes: { a: 1 } });

    expect(await loans.send(id, "note")).toMatchObject({
      status: 200,
      body: { attributes: { a: 1 } },
    });
  });
});

test("an instance is found by id, in any letter case, and by key", async () => {
  const id = await loans.begin({ key: "by key/with ü" });

  const answers = [
    await loans.send(id, "note"),
    await loans.send(id.toUpperCase(), "note"),
    await loans.send("by key/with ü", "note"),
  ];

  expect(answers.map((a) => [a.status, idOf(a)])).toEqual([
    [200, id],
    [200, id],
    [200, id],
  ]);
});

describe("refused is", () => {
  test.each([
    ["an unknown instance", "no-such-instance", "404 notfound.Instance:100017"],
    ["an unknown id", "0190a5b1-0000-7000-8000-000000000001", "404 notfound.Instance:100017"],
    ["a key nobody could have", "\u0000", "404 notfound.Instance:100017"],
  ])("%s", async (_, instance, code) => {
    expect(codeOf(await loans.send(instance, "note"))).toBe(code);
  });

  test("an instance of another workflow or domain, which is an unknown one here", async () => {
    const id = await loans.begin();

    expect(codeOf(await plain.send(id, "note"))).toBe("404 notfound.Instance:100017");
    expect(codeOf(await instancesOf(app, "full", "hr").send(id, "note"))).toBe(
      "404 notfound.Cache:300001",
    );
    expect(codeOf(await instancesOf(app, "nothing").send(id, "note"))).toBe(
      "404 notfound.Cache:300001",
    );
  });

  test("everything that is sent to an instance that has ended", async () => {
    const id = await loans.begin();
    await loans.send(id, "cancel");

    const answers = [];
    for (const key of ["submit", "note", "cancel", "amend", "finish-early", "nothing"]) {
      answers.push(await loans.send(id, key));
    }

    expect(new Set(answers.map(codeOf))).toEqual(new Set(["400 validation.Instance:100018"]));
  });

  test.each([
    ["hang", "B in a busy state"],
    ["park", "B because only rules could leave the state"],
  ])("after '%s' (%s) every ordinary transition", async (into) => {
    const id = await loans.begin();
    expect(await loans.send(id, into)).toMatchObject({ body: { status: "B" } });

    const answers = [
      await loans.send(id, "free"),
      await loans.send(id, "note"),
      await loans.send(id, "note", {}, { query: "sync=false" }),
    ];

    expect(new Set(answers.map(codeOf))).toEqual(new Set(["409 conflict.Instance:100031"]));
    expect(answers[0]?.body).toMatchObject({ target: id });
    expect(await loans.history(id)).toHaveLength(2);
  });

  test.each([
    ["a key the workflow does not have", "nothing", "404 notfound.Transition:100004"],
    ["a key in another letter case", "Submit", "404 notfound.Transition:100004"],
    ["an automatic transition", "jump", "403 validation.Transition:100010"],
    ["a scheduled transition", "remind", "403 validation.Transition:100010"],
    ["the timeout", "$timeout", "403 validation.Transition:100010"],
    ["a transition of another state", "approve", "400 validation.Transition:100020"],
    ["a shared one elsewhere", "approve-all", "400 validation.Transition:100021"],
    ["the start transition", "start", "400 validation.Transition:100022"],
    ["exit elsewhere", "exit", "400 validation.Transition:100024"],
  ])("%s: '%s' is %s", async (_, key, code) => {
    const id = await loans.begin();

    const now = await loans.send(id, key);
    const queued = await loans.send(id, key, {}, { query: "sync=false" });

    expect([codeOf(now), codeOf(queued)]).toEqual([code, code]);
    expect(await loans.history(id)).toHaveLength(1);
    expect((await loans.read(id)).metadata.status).toBe("A");
  });

  test.each([
    ["cancel", "400 validation.Instance:100016"],
    ["update-parent-data", "400 validation.Instance:100024"],
    ["exit", "400 validation.Instance:100026"],
    ["Cancel", "400 validation.Instance:100016"],
  ])("%s in a workflow without one", async (key, code) => {
    const id = await plain.begin();

    expect(codeOf(await plain.send(id, key))).toBe(code);
  });

  test("a payload that does not fit the transition's schema, with every place at once", async () => {
    const id = await loans.begin();
    const body = { attributes: { customer: { ownerUserId: 5 }, items: [{}], odd: 1 } };

    const answer = await loans.send(id, "submit", body);
    const queued = await loans.send(id, "submit", body, { query: "sync=false" });

    expect(answer.status).toBe(400);
    expect(answer.headers["_aether_error_format"]).toBe("true");
    const { error } = answer.body as {
      error: { validationErrors: { members: string[]; message: string }[] };
    };
    expect(error).toMatchObject({ prefix: "validation", code: "App:900002", target: "submit" });
    expect(error.validationErrors.flatMap((e) => e.members).toSorted()).toEqual([
      "customer.ownerUserId",
      "items.0",
      "odd",
      "root",
    ]);
    for (const { message } of error.validationErrors) expect(message).not.toBe("");
    expect(queued.text).toBe(answer.text);
    expect(await loans.history(id)).toHaveLength(1);
    expect((await loans.read(id)).metadata).toMatchObject({ status: "A", currentState: "draft" });
  });

  test("a payload as the envelope's limits say", async () => {
    const id = await loans.begin();

    const errors = Object.fromEntries(
      ["key", "stage", "tags[0]"].map((path) => [path, [expect.any(String)]]),
    );
    const answer = await loans.send(id, "note", {
      key: "k".repeat(101),
      stage: "s".repeat(121),
      tags: [1],
    });

    expect(answer).toMatchObject({
      status: 400,
      body: { code: "ModelValidation:Failed", errors },
    });
  });
});

describe("cancel and exit", () => {
  test.each([
    ["withdraw", "gone"],
    ["cancel", "gone"],
    ["CANCEL", "gone"],
    ["Withdraw", "gone"],
  ])("'%s' ends the instance as C and takes its timers along", async (key, state) => {
    const id = await loans.begin();
    expect(await jobsOf(id)).toEqual(["sx", "to"]);

    const answer = await loans.send(id, key, { attributes: { why: "changed my mind" } });

    expect(answer).toMatchObject({
      status: 200,
      body: { status: "C", attributes: { why: "changed my mind" } },
    });
    expect((await loans.read(id)).metadata).toMatchObject({
      currentState: state,
      currentStateSubType: "cancelled",
    });
    expect(movesOf(await loans.history(id))[1]).toBe(`withdraw: draft-${state}`);
    expect(await jobsOf(id)).toEqual([]);
  });

  test("exit ends it wherever it leads, also in a state that is no end", async () => {
    const id = await loans.begin();
    await loans.send(id, "callback");

    const answer = await loans.send(id, "exit");

    expect(answer).toMatchObject({ body: { status: "C" } });
    expect((await loans.read(id)).metadata).toMatchObject({
      currentState: "review",
      currentStateType: "intermediate",
      completedAt: expect.any(String),
    });
    expect(await jobsOf(id)).toEqual([]);
  });

  test.each(["hang", "park"])("pass an instance that is Busy (%s)", async (into) => {
    const cancelled = await loans.begin();
    const left = await loans.begin();
    await loans.send(cancelled, into);
    await loans.send(left, into);

    expect(await loans.send(cancelled, "cancel")).toMatchObject({ body: { status: "C" } });
    expect(await loans.send(left, "finish-early")).toMatchObject({ body: { status: "C" } });
  });

  test("may be queued", async () => {
    const id = await loans.begin();

    const answer = await loans.send(id, "cancel", {}, { query: "sync=false" });

    expect(answer).toMatchObject({ status: 202, body: { status: "B" } });
    await eventually(async () => {
      expect((await loans.read(id)).metadata).toMatchObject({
        status: "C",
        currentState: "gone",
      });
    });
  });
});

describe("updateData", () => {
  test.each(["amend", "update-parent-data", "Update-Parent-Data"])(
    "as '%s' merges data and leaves state, status and timers as they are",
    async (key) => {
      const id = await loans.begin({ attributes: { a: 1 } });

      const answer = await loans.send(id, key, { attributes: { b: 2 } });

      expect(answer).toMatchObject({
        status: 200,
        body: { status: "A", attributes: { a: 1, b: 2 } },
      });
      expect(movesOf(await loans.history(id))[1]).toBe("amend: draft-draft");
      expect(await jobsOf(id)).toEqual(["sx", "to"]);
    },
  );

  test("passes a Busy instance, which stays Busy", async () => {
    const id = await loans.begin();
    await loans.send(id, "hang");

    const now = await loans.send(id, "amend", { attributes: { b: 1 } });
    const queued = await loans.send(id, "amend", { attributes: { c: 1 } }, { query: "" });

    expect(now).toMatchObject({ status: 200, body: { status: "B", attributes: { b: 1 } } });
    expect(queued).toMatchObject({ status: 202, body: { status: "B" } });
    await eventually(async () => {
      expect(await loans.read(id)).toMatchObject({
        metadata: { status: "B", currentState: "busy" },
        attributes: { b: 1, c: 1 },
      });
    });
  });

  test("queued on an Active instance answers A: it reserves nothing", async () => {
    const id = await loans.begin();

    const answer = await loans.send(id, "amend", { attributes: { b: 1 } }, { query: "" });

    expect(answer).toMatchObject({ status: 202, body: { status: "A" } });
  });

  test("frees a parked instance when its rule holds now", async () => {
    const id = await loans.begin();
    await loans.send(id, "park");

    const answer = await loans.send(id, "amend", { attributes: { go: true } });

    expect(answer).toMatchObject({ body: { status: "C" } });
    expect(movesOf(await loans.history(id)).slice(2)).toEqual([
      "amend: parked-parked",
      "leave-it: parked-done",
    ]);
  });

  test.each(["sync=true", "sync=false"])(
    "sent 30 times at once (%s) keeps every payload",
    async (query) => {
      const id = await loans.begin();

      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          loans.send(id, "amend", { attributes: { [`n${i}`]: i } }, { query }),
        ),
      );

      expect(new Set(answers.map((a) => a.status))).toEqual(
        new Set([query === "sync=true" ? 200 : 202]),
      );
      await eventually(async () => {
        const { attributes, metadata } = await loans.read(id);
        expect(Object.keys(attributes ?? {})).toHaveLength(30);
        expect(metadata.status).toBe("A");
      });
      expect(await loans.history(id)).toHaveLength(31);
    },
  );

  test("holds nobody up: a transition sent beside it goes through", async () => {
    const id = await loans.begin();

    const answers = await Promise.all([
      loans.send(id, "amend", { attributes: { a: 1 } }),
      loans.send(id, "callback", { attributes: { b: 1 } }),
      loans.send(id, "amend", { attributes: { c: 1 } }),
    ]);

    expect(answers.map((a) => a.status)).toEqual([200, 200, 200]);
    expect(await loans.read(id)).toMatchObject({
      metadata: { currentState: "review" },
      attributes: { a: 1, b: 1, c: 1 },
    });
  });
});

test("an event's transition may be fired by a caller like a manual one", async () => {
  const id = await loans.begin();

  const answer = await loans.send(id, "callback", { attributes: { paid: true } });

  expect(answer).toMatchObject({ status: 200, body: { attributes: { paid: true } } });
  expect((await loans.history(id))[1]).toMatchObject({ triggerType: "event", toState: "review" });
});

test("shared transitions are available in every state, or in those that are listed", async () => {
  const id = await loans.begin();

  expect((await loans.send(id, "note")).status).toBe(200);
  expect((await loans.send(id, "note-anywhere")).status).toBe(200);
  await loans.send(id, "callback");
  expect((await loans.send(id, "note")).status).toBe(200);
  expect(await loans.send(id, "approve-all")).toMatchObject({ body: { status: "C" } });
});

test("tags are added and the stage is replaced, unless it is blank", async () => {
  const id = await loans.begin({ tags: ["a"], stage: "One", attributes: {} });

  await loans.send(id, "note", { tags: ["b", "a"], stage: "Two", attributes: {} });
  await loans.send(id, "note", { tags: [], stage: " ", attributes: {} });
  await loans.send(id, "note", { stage: null, attributes: {} });

  expect(await loans.read(id)).toMatchObject({ tags: ["a", "b"], metadata: { stage: "Two" } });
});

test("who acts is remembered as the last one who changed it", async () => {
  const id = await loans.begin({}, { headers: { act_sub: "first", sub: "customer" } });

  await loans.send(id, "note", {}, { headers: { act_sub: "second" } });

  const { metadata } = await loans.read(id);
  expect(metadata).toMatchObject({
    createdBy: "first",
    createdByBehalfOf: "customer",
    modifiedBy: "second",
  });
  expect(metadata).not.toHaveProperty("modifiedByBehalfOf");
});

describe("roles", () => {
  const guarded = aWorkflow("guarded")
    .state("open")
    .transition("approve", { roles: [{ role: "clerk", grant: "allow" }] })
    .transition("not-guests", { roles: [{ role: "guest", grant: "deny" }] })
    .transition("starter", { roles: [{ role: "$InstanceStarter", grant: "allow" }] })
    .transition("previous", { roles: [{ role: "$PreviousUser", grant: "allow" }] })
    .transition("owner", {
      roles: [{ role: "$user.$.context.Instance.Data.owner", grant: "allow" }],
    })
    .transition("open", {})
    .shared("here", {
      availableIn: [{ state: "open", roles: [{ role: "clerk", grant: "allow" }] }],
    })
    .cancel("withdraw", { to: "open", roles: [{ role: "boss", grant: "allow" }] });
  const ready = app.publish(guarded);
  const instances = instancesOf(app, "guarded");
  const denied = "403 forbidden.Authorization:110001";

  test.each<[string, Record<string, string>, string]>([
    ["approve", {}, denied],
    ["approve", { role: "guest" }, denied],
    ["approve", { role: "guest, Clerk" }, "200"],
    ["not-guests", {}, "200"],
    ["not-guests", { role: "guest" }, denied],
    ["starter", { act_sub: "ann" }, "200"],
    ["starter", { act_sub: "bob" }, denied],
    ["previous", { act_sub: "ann" }, "200"],
    ["previous", { act_sub: "bob" }, denied],
    ["owner", { act_sub: "cem" }, "200"],
    ["owner", { act_sub: "ann" }, denied],
    ["here", { role: "clerk" }, "200"],
    ["here", {}, denied],
    ["cancel", { role: "clerk" }, denied],
    ["cancel", { role: "boss" }, "200"],
  ])("'%s' by %j is answered %s", async (key, headers, code) => {
    await ready;
    const id = await instances.begin({ owner: "cem" }, { headers: { act_sub: "ann" } });

    expect(codeOf(await instances.send(id, key, {}, { headers }))).toBe(code);
  });

  test("the previous user is who made the last manual transition", async () => {
    await ready;
    const id = await instances.begin({}, { headers: { act_sub: "ann" } });
    await instances.send(id, "open", {}, { headers: { act_sub: "bob" } });

    const ann = await instances.send(id, "previous", {}, { headers: { act_sub: "ann" } });
    const bob = await instances.send(id, "previous", {}, { headers: { act_sub: "bob" } });

    expect([codeOf(ann), codeOf(bob)]).toEqual([denied, "200"]);
  });

  test("are not asked when a gateway does it", async () => {
    const trusting = await startRuntime({
      settings: { "Authorization.EnforceTransitionRoles": false },
    });
    await trusting.publish(guarded);
    const open = instancesOf(trusting, "guarded");
    const id = await open.begin();

    expect((await open.send(id, "approve")).status).toBe(200);
    expect((await open.send(id, "here")).status).toBe(200);
    expect((await open.send(id, "cancel")).status).toBe(200);
  });
});

const slot = (key: string, rule?: string) => ({
  ...(rule === undefined
    ? {}
    : { rule: { location: "dynamicExpresso", encoding: "NAT", code: rule } }),
  schema: { key, domain: "core", flow: "sys-schemas", version: "latest" },
});

describe("a schema that is chosen by a rule", () => {
  const ready = app.publish(
    aSchema("for-companies", { type: "object", required: ["taxId"] }),
    aSchema("for-people", { type: "object", required: ["name"] }),
    aWorkflow("chosen")
      .state("open")
      .transition("apply", {
        schema: {
          schemas: [slot("for-companies", 'context.Body.kind == "company"'), slot("for-people")],
        },
      }),
  );
  const instances = instancesOf(app, "chosen");

  test.each([
    [{ kind: "company", taxId: 1 }, 200],
    [{ kind: "company", name: "x" }, 400],
    [{ kind: "person", name: "x" }, 200],
    [{ kind: "person", taxId: 1 }, 400],
  ])("takes %j as %i", async (body, status) => {
    await ready;
    const id = await instances.begin();

    expect((await instances.send(id, "apply", body)).status).toBe(status);
  });
});
