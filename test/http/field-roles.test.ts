import { describe, expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { codeOf, instancesOf, type InstanceBody } from "../support/instances-of.ts";
import { publishPath, startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const allow = (role: string) => [{ role, grant: "allow" }];

await app.publish(
  aSchema("account-master", {
    type: "object",
    properties: {
      amount: { type: "number" },
      internalNote: { type: "string", "x-roles": allow("backoffice") },
      iban: {
        type: "string",
        "x-masking": {
          operator: "mask",
          params: { keepFirst: 2, keepLast: 4 },
          roles: allow("backoffice"),
        },
      },
      lines: {
        type: "array",
        items: { type: "object", properties: { cost: { "x-roles": allow("backoffice") } } },
      },
      private: { "x-roles": allow("$InstanceStarter") },
      last: { "x-roles": allow("$PreviousUser") },
      branch: { "x-roles": allow("$role.$.context.Headers.x-branch") },
    },
  }),
  aWorkflow("account")
    .schema("account-master")
    .state("open")
    .transition("note")
    .transition("close", { to: "closed" })
    .state("closed", { type: "finish", subType: "success" }),
);
const accounts = instancesOf(app, "account");

const attributes = {
  amount: 100.5,
  internalNote: "watch this one",
  iban: "TR330006100519",
  lines: [{ cost: 7, n: 1 }],
};
const forCustomers = { amount: 100.5, iban: "TR********0519", lines: [{ n: 1 }] };
const customer = { headers: { role: "customer", act_sub: "cem" } };
const office = { headers: { role: "customer, backoffice", act_sub: "ofis" } };
const nobody = { headers: {} };

type Body = InstanceBody & { items: InstanceBody[]; transitions: { body: object }[] };
const bodyOf = ({ body }: { body: unknown }) => body as Body;

describe("every way to read the data shows a caller what the caller may see", () => {
  test.each([
    ["customer", customer, forCustomers],
    ["back office", office, attributes],
    ["a caller without roles", nobody, forCustomers],
  ])("%s", async (_, caller, expected) => {
    const started = await accounts.start({ attributes }, caller);
    const { id } = bodyOf(started);
    const moved = await accounts.send(
      id,
      "note",
      { attributes: { iban: attributes.iban } },
      caller,
    );
    const read = await accounts.get(id, caller);
    const pinned = await accounts.get(id, { ...caller, query: "version=1.0.0" });
    const listed = await app.get(`${accounts.path}?filter={"id":{"eq":"${id}"}}`, caller.headers);
    const history = await app.get(`${accounts.path}/${id}/transitions`, caller.headers);

    expect(bodyOf(started).attributes).toEqual(expected);
    expect(bodyOf(moved).attributes).toEqual(expected);
    expect(bodyOf(read).attributes).toEqual(expected);
    expect(bodyOf(pinned).attributes).toEqual(expected);
    expect(bodyOf(listed).items[0]?.attributes).toEqual(expected);
    expect(bodyOf(history).transitions[0]?.body).toEqual(expected);
  });

  test("a number that is shown keeps its digits", async () => {
    const id = await accounts.begin('{"attributes":{"amount":100.50,"iban":"TR330006100519"}}');

    expect((await accounts.get(id)).text).toContain('"amount":100.50');
  });

  test("what is hidden is still there for rules, merges and those who may see it", async () => {
    const id = await accounts.begin({ attributes }, customer);

    await accounts.send(id, "note", { attributes: { amount: 3 } }, customer);

    expect(bodyOf(await accounts.get(id, office)).attributes).toEqual({ ...attributes, amount: 3 });
  });
});

describe("people known to the instance", () => {
  test("who started it sees what is theirs", async () => {
    const id = await accounts.begin({ attributes: { private: 1 } }, customer);

    expect(bodyOf(await accounts.get(id, customer)).attributes).toEqual({ private: 1 });
    expect(bodyOf(await accounts.get(id, office)).attributes).toEqual({});
  });

  test("who made the last manual transition is asked anew each time", async () => {
    const id = await accounts.begin({ attributes: { last: 1 } }, customer);
    const seenBy = async (caller: typeof customer) =>
      bodyOf(await accounts.get(id, caller)).attributes;
    expect(await seenBy(customer)).toEqual({ last: 1 });

    await accounts.send(id, "note", {}, office);

    expect(await seenBy(customer)).toEqual({});
    expect(await seenBy(office)).toEqual({ last: 1 });
  });

  test("a header may name the role that counts", async () => {
    const id = await accounts.begin({ attributes: { branch: 1 } });
    const seenBy = async (headers: Record<string, string>) =>
      bodyOf(await accounts.get(id, { headers })).attributes;

    expect(await seenBy({ role: "b7", "x-branch": "b7" })).toEqual({ branch: 1 });
    expect(await seenBy({ role: "b7", "x-branch": "b8" })).toEqual({});
    expect(await seenBy({ role: "b7" })).toEqual({});
  });
});

describe("ETags", () => {
  const tagFor = async (id: string, { headers }: typeof customer | typeof nobody) =>
    String((await accounts.get(id, { headers: { ...headers } })).headers["etag"]);

  test("differ between callers who see different things, and only between those", async () => {
    const id = await accounts.begin({ attributes });

    expect(await tagFor(id, customer)).not.toBe(await tagFor(id, office));
    expect(await tagFor(id, customer)).toBe(await tagFor(id, nobody));
  });

  test("of one caller are no 304 for another", async () => {
    const id = await accounts.begin({ attributes });
    const tag = await tagFor(id, office);
    const ask = async ({ headers }: typeof customer) =>
      (await accounts.get(id, { headers: { ...headers, "if-none-match": tag } })).status;

    expect(await ask(office)).toBe(304);
    expect(await ask(customer)).toBe(200);
  });

  test("move when a new version of the schema hides more", async () => {
    const schema = (properties: object) => ({ type: "object", properties });
    await app.publish(
      aSchema("pay-master", schema({ iban: { "x-roles": allow("office") } })),
      aWorkflow("pay").schema("pay-master").state("open").transition("note"),
    );
    const pays = instancesOf(app, "pay");
    const id = await pays.begin({ attributes: { iban: "1", name: "n" } });
    const before = await pays.get(id);
    const hidesMore = schema({
      iban: { "x-roles": allow("office") },
      name: { "x-roles": allow("office") },
    });
    await app.publish(aSchema("pay-master", hidesMore, { version: "1.1.0", flowVersion: "1.1.0" }));

    const after = await pays.get(id, {
      headers: { "if-none-match": String(before.headers["etag"]) },
    });

    expect(bodyOf(before).attributes).toEqual({ name: "n" });
    expect([after.status, bodyOf(after).attributes]).toEqual([200, {}]);
  });

  test("are the same on every node", async () => {
    const id = await accounts.begin({ attributes });
    const other = await startRuntime({ databaseUrl: app.databaseUrl });
    const there = async ({ headers }: typeof customer) =>
      (await other.get(`${accounts.path}/${id}`, headers)).headers["etag"];

    expect(await there(customer)).toBe(await tagFor(id, customer));
    expect(await there(office)).toBe(await tagFor(id, office));
  });

  test("of a synchronous answer and of a read by the same caller are the same", async () => {
    const started = bodyOf(await accounts.start({ attributes }, customer));

    expect(started.eTag).toBe(await tagFor(started.id, customer));
  });
});

describe("a list by a field that the caller may not see is refused", () => {
  const queries: [string, string][] = [
    ["filter on a hidden field", 'filter={"attributes":{"internalNote":{"like":"watch"}}}'],
    [
      "filter deep in a combination",
      'filter={"or":[{"status":{"eq":"A"}},{"not":{"attributes":{"internalNote":{"isNull":true}}}}]}',
    ],
    ["legacy filter", "filter=attributes.internalNote=eq:x"],
    ["filter on a masked field", 'filter={"attributes":{"iban":{"startswith":"TR33"}}}'],
    ["filter through a list", 'filter={"attributes":{"lines.cost":{"gt":1}}}'],
    [
      "filter on what holds a hidden field",
      'filter={"attributes":{"lines":{"includes":{"cost":7}}}}',
    ],
    ["filter on a field of the starter", 'filter={"attributes":{"private":{"eq":1}}}'],
    ["sort", 'sort={"field":"attributes.iban","direction":"asc"}'],
    ["orderBy", 'orderBy={"field":"attributes.internalNote","direction":"asc"}'],
    ["groupBy", 'groupBy={"field":"attributes.iban"}'],
    ["aggregation", 'groupBy={"field":"status"}&aggregations={"max":"attributes.internalNote"}'],
  ];

  test.each(queries)("%s", async (_, query) => {
    const refused = await app.get(`${accounts.path}?${query}`, customer.headers);

    expect(codeOf(refused)).toBe("403 forbidden.Authorization:110001");
  });

  test.each(queries.filter(([name]) => name !== "filter on a field of the starter"))(
    "and answered to who may: %s",
    async (_, query) => {
      expect((await app.get(`${accounts.path}?${query}`, office.headers)).status).toBe(200);
    },
  );

  test("other fields may be asked about", async () => {
    const query = 'filter={"attributes":{"amount":{"gt":1}}}&sort={"field":"attributes.amount"}';

    expect((await app.get(`${accounts.path}?${query}`, customer.headers)).status).toBe(200);
  });

  test("also when only an older version of the workflow hides it", async () => {
    await app.publish(
      aSchema("ward-master", { properties: { illness: { "x-roles": allow("doctor") } } }),
      aWorkflow("ward").schema("ward-master").state("open"),
      aWorkflow("ward").version("2.0.0").state("open"),
    );

    const answer = await instancesOf(app, "ward").list(
      'filter={"attributes":{"illness":{"eq":"x"}}}',
    );

    expect(codeOf(answer)).toBe("403 forbidden.Authorization:110001");
  });
});

describe("a transition", () => {
  test.each([
    ["$user.$.context.QueryParameters.for", "?sync=true&For=cem", 200],
    ["$user.$.context.QueryParameters.for", "?sync=true&For=ofis", 403],
    ["$user.$.context.RouteValues.instance", "?sync=true", 200],
    ["$role.$.context.Transition.Key", "?sync=true", 403],
    ["$user.$.context.Headers.x-owner", "?sync=true", 200],
  ])("may be granted by %s (%s): %d", async (role, query, status) => {
    const key = `gate-${role.replaceAll(/[^a-z]/gi, "")}-${status}`.slice(0, 60);
    await app.publish(
      aWorkflow(key)
        .state("open")
        .transition("go", { roles: allow(role) }),
    );
    const gated = instancesOf(app, key);
    await gated.begin({ key: "cem" });

    const answer = await app.patch(
      `${gated.path}/cem/transitions/go${query}`,
      {},
      {
        ...customer.headers,
        "x-owner": "cem",
      },
    );

    expect(answer.status).toBe(status);
  });

  test("four eyes: who made the last manual transition may not make this one", async () => {
    await app.publish(
      aWorkflow("four-eyes")
        .state("draft")
        .transition("submit", { to: "review" })
        .state("review")
        .transition("approve", { to: "done", roles: [{ role: "$PreviousUser", grant: "deny" }] })
        .state("done", { type: "finish", subType: "success" }),
    );
    const drafts = instancesOf(app, "four-eyes");
    const id = await drafts.begin({}, office);
    await drafts.send(id, "submit", {}, customer);

    const own = await drafts.send(id, "approve", {}, customer);
    const other = await drafts.send(id, "approve", {}, office);

    expect([own.status, other.status]).toEqual([403, 200]);
  });
});

test("publish warns that 'x-encryption' has no effect", async () => {
  const schema = { properties: { a: { "x-encryption": { type: "encrypt" } } } };

  const { body } = await app.post(publishPath, aSchema("encrypted", schema));

  expect(JSON.stringify((body as { warnings: object }).warnings)).toContain("x-encryption");
});

describe("publish refuses", () => {
  test.each<[string, object, string]>([
    ["x-roles that are no list", { "x-roles": "clerk" }, ".x-roles"],
    ["x-roles with a text", { "x-roles": ["clerk"] }, ".x-roles"],
    ["masking without an operator", { "x-masking": {} }, ".x-masking"],
    ["masking by an unknown operator", { "x-masking": { operator: "hash" } }, ".x-masking"],
    ["replacing by nothing", { "x-masking": { operator: "replace" } }, ".x-masking.params.value"],
    [
      "keeping less than nothing",
      { "x-masking": { operator: "mask", params: { keepFirst: -1 } } },
      ".x-masking.params.keepFirst",
    ],
    [
      "masking with two characters",
      { "x-masking": { operator: "mask", params: { maskingChar: "**" } } },
      ".x-masking.params.maskingChar",
    ],
    [
      "a deny among those who see the value",
      { "x-masking": { operator: "mask", roles: [{ role: "a", grant: "deny" }] } },
      ".x-masking.roles[0].grant",
    ],
  ])("%s", async (_, property, path) => {
    const answer = await app.post(publishPath, aSchema("wrong", { properties: { a: property } }));

    expect(codeOf(answer)).toBe("400 validation.App:900006");
    const places = Object.keys((answer.body as { errors: object }).errors);
    expect(places).toEqual([`attributes.schema.properties.a${path}`]);
  });
});
