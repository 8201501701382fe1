/**
 * Grants of every form against callers of every kind on every surface that asks them. What each form
 * means is written down here by hand, so that a mistake in the engine cannot excuse itself.
 */
import { expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

interface Caller {
  name: string;
  roles?: string[];
  actor?: string;
  behalfOf?: string;
  xRole?: string;
}

const callers: Caller[] = [
  { name: "nobody" },
  { name: "clerk", roles: ["clerk"], actor: "eve" },
  { name: "guest", roles: ["guest"], actor: "eve" },
  { name: "clerk and guest", roles: ["CLERK", "guest"], actor: "eve" },
  { name: "clerk and boss", roles: ["boss", "clerk"], actor: "eve" },
  { name: "who started it", actor: "starter" },
  { name: "a clerk who moved it last", roles: ["clerk"], actor: "mover", behalfOf: "moved-for" },
  { name: "its customer", actor: "eve", behalfOf: "customer" },
  { name: "its owner", actor: "ann", behalfOf: "ann" },
  { name: "one of its team", roles: ["guest"], actor: "bob" },
  { name: "approver by data and header", roles: ["approver"], actor: "eve", xRole: "approver" },
];

interface Form {
  name: string;
  grants: object[];
  lets(caller: Caller): boolean;
}

const allow = (role: string) => ({ role, grant: "allow" });
const deny = (role: string) => ({ role, grant: "deny" });
const all = (grant: string, ...roles: string[]) => ({
  grant,
  allOf: roles.map((role) => ({ role })),
});
const any = (grant: string, ...roles: string[]) => ({
  grant,
  anyOf: roles.map((role) => ({ role })),
});
const has = ({ roles = [] }: Caller, role: string) =>
  roles.map((name) => name.toLowerCase()).includes(role);

const data = { owner: "ann", team: ["bob", "cem"], needs: "Approver" };
const forms: Form[] = [
  { name: "none", grants: [], lets: () => true },
  { name: "allow", grants: [allow("clerk")], lets: (c) => has(c, "clerk") },
  { name: "allowAnyCase", grants: [allow("cLeRk")], lets: (c) => has(c, "clerk") },
  { name: "deny", grants: [deny("guest")], lets: (c) => !has(c, "guest") },
  {
    name: "allowAndDeny",
    grants: [allow("clerk"), deny("guest")],
    lets: (c) => has(c, "clerk") && !has(c, "guest"),
  },
  {
    name: "twoAllows",
    grants: [allow("boss"), allow("guest")],
    lets: (c) => has(c, "boss") || has(c, "guest"),
  },
  {
    name: "allOf",
    grants: [all("allow", "clerk", "boss")],
    lets: (c) => has(c, "clerk") && has(c, "boss"),
  },
  {
    name: "anyOf",
    grants: [any("allow", "boss", "guest")],
    lets: (c) => has(c, "boss") || has(c, "guest"),
  },
  {
    name: "denyAnyOf",
    grants: [any("deny", "boss", "guest")],
    lets: (c) => !has(c, "boss") && !has(c, "guest"),
  },
  {
    name: "fourEyes",
    grants: [allow("clerk"), all("deny", "clerk", "$PreviousUser")],
    lets: (c) => has(c, "clerk") && c.actor !== "mover",
  },
  { name: "starter", grants: [allow("$InstanceStarter")], lets: (c) => c.actor === "starter" },
  { name: "notStarter", grants: [deny("$InstanceStarter")], lets: (c) => c.actor !== "starter" },
  {
    name: "startedFor",
    grants: [allow("$InstanceBehalfOfStarter")],
    lets: (c) => c.behalfOf === "customer",
  },
  { name: "previous", grants: [allow("$PreviousUser")], lets: (c) => c.actor === "mover" },
  {
    name: "previousFor",
    grants: [allow("$PreviousBehalfOfUser")],
    lets: (c) => c.behalfOf === "moved-for",
  },
  {
    name: "ownerByData",
    grants: [allow("$user.$.context.Instance.Data.owner")],
    lets: (c) => c.actor === "ann",
  },
  {
    name: "ownerForByData",
    grants: [allow("$userBehalfOf.$.context.Instance.Data.owner")],
    lets: (c) => c.behalfOf === "ann",
  },
  {
    name: "teamByData",
    grants: [allow("$user.$.context.Instance.Data.team")],
    lets: (c) => c.actor === "bob",
  },
  {
    name: "notTeamByData",
    grants: [deny("$user.$.context.Instance.Data.team")],
    lets: (c) => c.actor !== "bob",
  },
  {
    name: "roleByData",
    grants: [allow("$role.$.context.Instance.Data.needs")],
    lets: (c) => has(c, "approver"),
  },
  {
    name: "createdBy",
    grants: [allow("$user.$.context.Instance.CreatedBy")],
    lets: (c) => c.actor === "starter",
  },
  {
    name: "roleByHeader",
    grants: [allow("$role.$.context.Headers.x-role")],
    lets: (c) => c.xRole === "approver",
  },
];

const headersOf = ({ roles, actor, behalfOf, xRole }: Caller): Record<string, string> => ({
  ...(roles === undefined ? {} : { role: roles.join(",") }),
  ...(actor === undefined ? {} : { act_sub: actor }),
  ...(behalfOf === undefined ? {} : { sub: behalfOf }),
  ...(xRole === undefined ? {} : { "x-role": xRole }),
});
const mover = { headers: headersOf({ name: "mover", actor: "mover", behalfOf: "moved-for" }) };

const own = forms.reduce(
  (flow, form) => flow.transition(`own-${form.name}`, { roles: form.grants }),
  aWorkflow("matrix")
    .schema("matrix-master")
    .state("open")
    .transition("touch")
    .transition("hold", { to: "held" }),
);
const held = own.state("held").transition("touch-held");
await app.publish(
  aSchema("matrix-master", {
    properties: Object.fromEntries(
      forms.map((form) => [
        `field_${form.name}`,
        form.grants.length === 0 ? {} : { "x-roles": form.grants },
      ]),
    ),
  }),
  forms.reduce(
    (flow, form) =>
      flow.shared(`shared-${form.name}`, {
        availableIn: [{ state: "held", roles: form.grants }, { state: "open" }],
      }),
    held,
  ),
);
const instances = instancesOf(app, "matrix");

const attributes = {
  ...data,
  ...Object.fromEntries(forms.map((form) => [`field_${form.name}`, "x"])),
};
async function begin(state: "open" | "held"): Promise<string> {
  const starter = headersOf({ name: "starter", actor: "starter", behalfOf: "customer" });
  const id = await instances.begin({ attributes }, { headers: starter });
  await instances.send(id, state === "open" ? "touch" : "hold", {}, mover);
  return id;
}

interface Cell {
  surface: string;
  form: Form;
  caller: Caller;
  expected: boolean;
  got: boolean;
}

const disagreements = (cells: readonly Cell[]) =>
  cells
    .filter(({ expected, got }) => expected !== got)
    .map(
      ({ surface, form, caller, expected }) =>
        `${surface} ${form.name} as ${caller.name}: ${expected ? "refused" : "allowed"}`,
    );

async function executed(
  surface: "own" | "shared",
  state: "open" | "held",
  isGated: boolean,
): Promise<Cell[]> {
  const id = await begin(state);
  const cells: Cell[] = [];
  for (const form of forms) {
    for (const caller of callers) {
      const answer = await instances.send(
        id,
        `${surface}-${form.name}`,
        {},
        { headers: headersOf(caller) },
      );
      const got = answer.status === 200;
      if (!got) expect(answer.status).toBe(403);
      // Whoever moved it is the previous user now, which is not what the next cell is about.
      if (got) await instances.send(id, state === "open" ? "touch" : "touch-held", {}, mover);
      cells.push({
        surface: `${surface} in ${state}`,
        form,
        caller,
        expected: !isGated || form.lets(caller),
        got,
      });
    }
  }
  return cells;
}

type Shown = Record<string, unknown> | undefined;

async function shown(): Promise<Cell[]> {
  const cells: Cell[] = [];
  for (const state of ["open", "held"] as const) {
    const id = await begin(state);
    for (const caller of callers) {
      const headers = headersOf(caller);
      const one = (await instances.get(id, { headers })).body as { attributes: Shown };
      const filter = encodeURIComponent(`{"id":{"eq":"${id}"}}`);
      const list = await app.get(`${instances.path}?filter=${filter}`, headers);
      const history = await app.get(`${instances.path}/${id}/transitions`, headers);
      const surfaces: Record<string, Shown> = {
        "GET instance": one.attributes,
        list: (list.body as { items: { attributes: Shown }[] }).items[0]?.attributes,
        history: (history.body as { transitions: { body: Shown }[] }).transitions[0]?.body,
      };
      for (const [surface, visible] of Object.entries(surfaces)) {
        for (const form of forms) {
          const got = visible !== undefined && `field_${form.name}` in visible;
          cells.push({
            surface: `${surface} in ${state}`,
            form,
            caller,
            expected: form.lets(caller),
            got,
          });
        }
      }
    }
  }
  return cells;
}

test("no surface lets through, or refuses, whom the model does not", async () => {
  const cells = [
    ...(await executed("own", "open", true)),
    ...(await executed("shared", "held", true)),
    ...(await executed("shared", "open", false)),
    ...(await shown()),
  ];

  expect(cells.length).toBeGreaterThan(2000);
  expect(cells.filter(({ expected }) => expected).length).toBeGreaterThan(500);
  expect(cells.filter(({ expected }) => !expected).length).toBeGreaterThan(500);
  expect(disagreements(cells)).toEqual([]);
}, 120_000);

test("a list may be asked by a field only by whom no instance hides it from", async () => {
  const cells: Cell[] = [];
  for (const form of forms) {
    const isAboutInstances = /Instance|Previous/.test(JSON.stringify(form.grants));
    for (const caller of callers) {
      const filter = encodeURIComponent(`{"attributes":{"field_${form.name}":{"eq":"x"}}}`);
      const { status } = await app.get(`${instances.path}?filter=${filter}`, headersOf(caller));
      const expected = !isAboutInstances && form.lets(caller);
      cells.push({ surface: "filter", form, caller, expected, got: status === 200 });
    }
  }

  expect(disagreements(cells)).toEqual([]);
}, 60_000);
