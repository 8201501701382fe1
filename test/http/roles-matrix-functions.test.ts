/**
 * Who may call a function: the call, `/info`, `/view`, `/schema`, the catalog, `authorize` and its
 * explanation, in a domain and on an instance, each against the model and so against each other.
 */
import { expect, test } from "vitest";
import { aFunction, functionRef, functionTask } from "../support/a-function.ts";
import { aComponent, aSchema, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import {
  callers,
  data,
  disagreements,
  forms,
  headersOf,
  mover,
  starter,
  type Caller,
  type Cell,
  type Form,
} from "../support/role-model.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

const scopes = ["D", "I", "F"] as const;
type Scope = (typeof scopes)[number];
const keyOf = (scope: Scope, { name }: Form) => `${scope.toLowerCase()}-${name}`;
const keys = scopes.flatMap((scope) => forms.map((form) => keyOf(scope, form)));
const ref = (flow: string, key: string) => ({ key, domain: "core", flow, version: "latest" });

await app.publish(
  functionTask,
  aSchema("asked", { type: "object" }),
  aComponent("sys-views", "asking", { type: 1, content: {} }),
  ...scopes.flatMap((scope) =>
    forms.map((form) =>
      aFunction(keyOf(scope, form), "return { Data: 1 };", {
        scope,
        roles: form.grants,
        inputView: { view: ref("sys-views", "asking") },
        inputSchema: ref("sys-schemas", "asked"),
      }),
    ),
  ),
  aWorkflow("declares")
    .state("open")
    .transition("touch")
    .with({ functions: keys.map((key) => functionRef(key)) }),
  aWorkflow("declares-none").state("open").transition("touch"),
);
const inDomain = "/api/v1/core/functions";

/** The path of the functions of an instance that `mover` moved last. */
async function onInstance(workflow: string): Promise<string> {
  const flows = instancesOf(app, workflow);
  const id = await flows.begin({ attributes: data }, { headers: starter });
  expect(await flows.send(id, "touch", {}, { headers: mover })).toMatchObject({ status: 200 });
  return `${flows.path}/${id}/functions`;
}

type Verdicts = Record<string, boolean>;

/** 200 or 403; anything else is neither yes nor no. */
async function isLet(path: string, caller: Caller): Promise<boolean> {
  const { status } = await app.get(path, headersOf(caller));
  expect([path, [200, 403].includes(status)]).toEqual([path, true]);
  return status === 200;
}

const discovered = async (functions: string, key: string, caller: Caller): Promise<Verdicts> => ({
  call: await isLet(`${functions}/${key}`, caller),
  info: await isLet(`${functions}/${key}/info`, caller),
  view: await isLet(`${functions}/${key}/view?target=input`, caller),
  schema: await isLet(`${functions}/${key}/schema?target=input`, caller),
});

async function authorized(functions: string, key: string, caller: Caller): Promise<Verdicts> {
  const path = `${functions}/authorize?functionKey=${key}`;
  const explained = await app.get(`${path}&explain=true`, headersOf(caller));
  const { allowed, checks } = explained.body as {
    allowed: boolean;
    checks: { allowed: boolean }[];
  };
  expect(checks.every((check) => check.allowed)).toBe(allowed);
  expect(explained.status).toBe(allowed ? 200 : 403);
  return { authorize: await isLet(path, caller), explanation: allowed };
}

async function catalogued(functions: string, caller: Caller): Promise<Set<string>> {
  const { body } = await app.get(`${functions}/catalog`, headersOf(caller));
  return new Set((body as { functions: { name: string }[] }).functions.map(({ name }) => name));
}

interface Asked {
  scope: Scope;
  place: string;
  lets: (form: Form, caller: Caller) => boolean;
  ask: (key: string, caller: Caller, i: number) => Promise<Verdicts>;
}

async function cellsOf({ scope, place, lets, ask }: Asked): Promise<Cell[]> {
  const cells: Cell[] = [];
  for (const form of forms) {
    const asked = callers.map((caller, i) => ask(keyOf(scope, form), caller, i));
    for (const [i, verdicts] of (await Promise.all(asked)).entries()) {
      const caller = callers[i]!;
      const expected = lets(form, caller);
      for (const [surface, got] of Object.entries(verdicts)) {
        cells.push({ surface: `${surface}, ${scope} ${place}`, form, caller, expected, got });
      }
    }
  }
  return cells;
}

const timeout = 120_000;
const cellsPerSurface = forms.length * callers.length;

test.for(scopes)(
  "scope %s on an instance whose workflow lists it: every surface is as the model says",
  { timeout },
  async (scope) => {
    const functions = await onInstance("declares");
    const catalogs = await Promise.all(callers.map((caller) => catalogued(functions, caller)));

    const cells = await cellsOf({
      scope,
      place: "listed",
      lets: (form, caller) => form.lets(caller),
      ask: async (key, caller, i) => ({
        ...(await discovered(functions, key, caller)),
        ...(await authorized(functions, key, caller)),
        catalog: catalogs[i]!.has(key),
      }),
    });

    expect(cells).toHaveLength(cellsPerSurface * 7);
    expect(disagreements(cells)).toEqual([]);
  },
);

test.for(scopes)(
  "scope %s in the domain, where there is no instance to be known to",
  { timeout },
  async (scope) => {
    const cells = await cellsOf({
      scope,
      place: "in the domain",
      lets: (form, caller) => scope === "D" && (form.letsInDomain ?? form.lets)(caller),
      ask: (key, caller) => discovered(inDomain, key, caller),
    });

    expect(cells).toHaveLength(cellsPerSurface * 4);
    expect(disagreements(cells)).toEqual([]);
  },
);

test.for(["I", "F"] as const)(
  "scope %s on an instance whose workflow lists none",
  { timeout },
  async (scope) => {
    const functions = await onInstance("declares-none");

    const cells = await cellsOf({
      scope,
      place: "not listed",
      lets: (form, caller) => scope !== "F" && form.lets(caller),
      ask: async (key, caller) => ({
        ...(await discovered(functions, key, caller)),
        ...(await authorized(functions, key, caller)),
      }),
    });

    expect(cells).toHaveLength(cellsPerSurface * 6);
    expect(disagreements(cells)).toEqual([]);
  },
);

test("grants that look at the request see the same one from every surface", async () => {
  const roles = [{ role: "$user.$.context.RouteValues.function", grant: "allow" }];
  await app.publish(
    aFunction("routed", "return { Data: 1 };", {
      roles,
      inputView: { view: ref("sys-views", "asking") },
      inputSchema: ref("sys-schemas", "asked"),
    }),
    aWorkflow("declares-routed")
      .state("open")
      .transition("touch")
      .with({ functions: [functionRef("routed")] }),
  );
  const functions = await onInstance("declares-routed");

  for (const actor of ["routed", "authorize", "catalog"]) {
    const caller = { name: actor, actor };
    const verdicts = {
      ...(await discovered(functions, "routed", caller)),
      ...(await authorized(functions, "routed", caller)),
      catalog: (await catalogued(functions, caller)).has("routed"),
    };

    expect([actor, ...Object.values(verdicts)]).toEqual([
      actor,
      ...Object.values(verdicts).map(() => actor === "routed"),
    ]);
  }
});
