/**
 * ETags on two nodes over one database: every change that a caller sees moves them, and nothing else
 * does. What each change is seen on is written down here; beside it, a tag may never differ where the
 * answer is the same, nor the other way round.
 */
import { expect, test } from "vitest";
import { rowsOf } from "../crash/promises.ts";
import { aFunction, allow, functionRef, functionTask } from "../support/a-function.ts";
import { aScriptTask, output, taskWith } from "../support/a-script-slot.ts";
import { aComponent, aSchema, aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import {
  startRuntime,
  startRuntimeForFile,
  type Answer,
  type TestRuntime,
} from "../support/start-runtime.ts";
import { childOf, inside } from "../support/subflows.ts";

const one = await startRuntimeForFile();
const other = await startRuntimeForFile({ databaseUrl: one.databaseUrl });

const view = { view: { key: "page", domain: "core", flow: "sys-views", version: "latest" } };
const page = (renderer: string, version: string) =>
  aComponent("sys-views", "page", { type: 1, content: {}, renderer }, { version });
const form = (title: string, version: string) => {
  const properties = { limit: { "x-roles": [allow("officer")] } };
  return aSchema("form", { type: "object", title, properties }, { version });
};
const summary = (answer: string, version: string) => {
  const shown = "amount: context.Instance.Data.amount, at: context.Instance.CurrentState";
  const body = `return { Data: { ${shown}, answer: "${answer}" } };`;
  return aFunction("summary", body, { scope: "F" }, { version });
};
const throwing = output("if (!context.Instance.Data.fixed) throw new Error('no'); return {};");
const flow = aWorkflow("matrix")
  .schema("form")
  .state("here", {
    view,
    alias: [
      {
        name: "looking",
        roles: [allow("customer")],
        labels: [
          { label: "We look", language: "en" },
          { label: "Wir prüfen", language: "de" },
        ],
      },
    ],
  })
  .transition("go", { to: "there" })
  .transition("break", { to: "there", onExecutionTasks: [taskWith("work", throwing)] })
  .transition("finish", { to: "done" })
  .transition("wait", { to: "waiting" })
  .transition("enter", { to: "within" })
  .transition("grant", { to: "there", roles: [allow("officer")] })
  .state("there")
  .transition("back", { to: "here" })
  .state("waiting")
  .transition("late", { to: "done", timer: "PT1H" })
  .transition("longer", { to: "waiting-longer" })
  .state("waiting-longer")
  .transition("late", { to: "done", timer: "PT2H" })
  .state("within", inside("inner"))
  .transition("on", { to: "there", otherwise: true })
  .state("done", { type: "finish", subType: "success" })
  .shared("stay", { schema: "form" })
  .updateData("amend")
  .with({ functions: [functionRef("summary")] });

await one.publish(
  functionTask,
  aScriptTask("work"),
  page("vue", "1.0.0"),
  form("one", "1.0.0"),
  summary("first", "1.0.0"),
  aSchema("inner-form", { type: "object" }),
  aWorkflow("inner")
    .schema("inner-form")
    .state("asked")
    .transition("move", { to: "answered" })
    .transition("note")
    .state("answered")
    .transition("pass", { to: "passed" })
    .state("passed", { type: "finish", subType: "success" }),
  flow,
);
const flows = instancesOf(one, "matrix");
const inners = instancesOf(one, "inner");

const surfaces = {
  instance: "",
  state: "/functions/state",
  data: "/functions/data",
  schema: "/functions/schema?transitionKey=stay",
  master: "/functions/master",
  summary: "/functions/summary",
};
type Surface = keyof typeof surfaces;
const names = Object.keys(surfaces) as Surface[];

interface Seen {
  tag: string | undefined;
  /** Without the tags in it. */
  body: string;
}
type Sight = Record<Surface, Seen>;
type Headers = Record<string, string>;

/** One node's answers. Whoever knows a tag gets 304, and nobody else does. */
async function seenOn(node: TestRuntime, id: string, headers: Headers): Promise<Sight> {
  const seen = names.map(async (name): Promise<[Surface, Seen]> => {
    const path = `${flows.path}/${id}${surfaces[name]}`;
    const answer = await node.get(path, headers);
    const tag = answer.headers["etag"];
    if (tag !== undefined) {
      const again = await node.get(path, { ...headers, "if-none-match": tag });
      expect(again).toMatchObject({ status: 304, body: undefined, headers: { etag: tag } });
    }
    const { eTag, entityEtag, ...body } = answer.body as Record<string, unknown>;
    if (eTag !== undefined) expect(eTag).toBe(tag);
    if (entityEtag !== undefined) expect(entityEtag).toBe(answer.headers["x-entity-etag"]);
    return [name, { tag, body: JSON.stringify([answer.status, body]) }];
  });
  return Object.fromEntries(await Promise.all(seen)) as Sight;
}

/** What both nodes answer, which is the same. */
async function see(id: string, headers: Headers = {}): Promise<Sight> {
  const here = await seenOn(one, id, headers);
  expect(await seenOn(other, id, headers)).toEqual(here);
  return here;
}

/** The surfaces whose tag is another one. It is exactly where the answer is. */
function moved(before: Sight, after: Sight): Surface[] {
  const tagged = names.filter((name) => before[name].tag ?? after[name].tag);
  const differing = (member: keyof Seen) =>
    tagged.filter((name) => before[name][member] !== after[name][member]);
  expect(differing("tag")).toEqual(differing("body"));
  return differing("tag");
}

interface Change {
  change: string;
  /** Transitions before. */
  after?: string[];
  act: (id: string) => Promise<Answer>;
  moves: Surface[];
}

const send = (transition: string, body: object = {}) => ({
  act: (id: string) => flows.send(id, transition, body),
});
const inChild = (transition: string, body: object = {}) => ({
  after: ["enter"],
  act: async (id: string) => inners.send(await childOf(one, id), transition, body),
});

const changes: Change[] = [
  { change: "data", ...send("amend", { amount: 2 }), moves: ["instance", "data", "summary"] },
  { change: "state", ...send("go"), moves: ["instance", "state", "summary"] },
  {
    change: "state there and back",
    act: async (id) => {
      await flows.send(id, "go");
      return flows.send(id, "back");
    },
    moves: ["instance"],
  },
  { change: "status", ...send("finish"), moves: ["instance", "state", "summary"] },
  { change: "stage", ...send("stay", { stage: "S", attributes: {} }), moves: ["instance"] },
  { change: "tags", ...send("stay", { tags: ["t"], attributes: {} }), moves: ["instance"] },
  { change: "an incident that opens", ...send("break"), moves: ["instance", "state"] },
  {
    change: "an incident that is resolved",
    after: ["break"],
    act: (id) => one.post(`${flows.path}/${id}/retry?sync=true`, { attributes: { fixed: true } }),
    moves: ["instance", "state", "data", "summary"],
  },
  { change: "a timer that is set", ...send("wait"), moves: ["instance", "state", "summary"] },
  {
    change: "a timer that is set anew",
    after: ["wait"],
    ...send("longer"),
    moves: ["instance", "state", "summary"],
  },
  {
    change: "a timer that starts again",
    after: ["wait"],
    ...send("stay"),
    moves: ["instance", "state"],
  },
  {
    // The master schema is the subflow's now, which is passed on without a tag.
    change: "a subflow that opens",
    ...send("enter"),
    moves: ["instance", "state", "master", "summary"],
  },
  { change: "the state of a subflow", ...inChild("move"), moves: ["instance", "state"] },
  // The list of children tells when each was changed last.
  { change: "a subflow's step that stays", ...inChild("note"), moves: ["state"] },
  {
    change: "the end of a subflow",
    after: ["enter", "move"],
    ...send("pass"),
    moves: ["instance", "state", "master", "summary"],
  },
];

async function begin(ways: readonly string[] = []): Promise<string> {
  const id = await flows.begin({ amount: 1, limit: 5 }, { query: "sync=true&version=1.0.0" });
  for (const way of ways) expect(await flows.send(id, way)).toMatchObject({ status: 200 });
  return id;
}

test.for(changes)("$change moves the tags of those who show it", async (row) => {
  const id = await begin(row.after);
  const before = await see(id);

  expect(await row.act(id)).toMatchObject({ status: 200 });

  expect(moved(before, await see(id))).toEqual(row.moves);
});

test.for<{ who: string; headers: Headers; moves: Surface[] }>([
  {
    who: "with another role",
    headers: { role: "officer" },
    moves: ["instance", "state", "data", "schema", "master"],
  },
  { who: "who sees an alias", headers: { role: "customer" }, moves: ["state"] },
  { who: "with a role that nothing asks for", headers: { role: "passer-by" }, moves: [] },
  { who: "with another name", headers: { sub: "ann", act_sub: "bob" }, moves: [] },
  { who: "in a language that is not shown", headers: { "accept-language": "de" }, moves: [] },
  { who: "with headers of their own", headers: { "x-request-id": "7" }, moves: [] },
])("a caller $who has other tags where they see something else", async ({ headers, moves }) => {
  const id = await begin();

  expect(moved(await see(id), await see(id, headers))).toEqual(moves);
});

test("a language moves the tag where it is seen", async () => {
  const id = await begin();
  const english = await see(id, { role: "customer" });

  const german = await see(id, { role: "customer", "accept-language": "de-AT" });

  expect(moved(english, german)).toEqual(["state"]);
});

test("a new version of what is shown moves its tags on both nodes", async () => {
  const id = await begin();
  const officer = { role: "officer" };
  let before = await see(id, officer);
  const afterwards = async (component: object): Promise<Surface[]> => {
    await one.publish(component);
    return eventually(async () => {
      const after = await see(id, officer);
      const those = moved(before, after);
      expect(those).not.toEqual([]);
      before = after;
      return those;
    });
  };

  expect(await afterwards(page("react", "1.1.0"))).toEqual(["state"]);
  expect(await afterwards(form("two", "1.1.0"))).toEqual(["schema", "master"]);
  expect(await afterwards(summary("second", "1.1.0"))).toEqual(["summary"]);
});

test("a new version of the master schema moves the tags of data it hides something of", async () => {
  const id = await begin();
  const before = await see(id);

  await one.publish(form("three", "1.2.0"));

  // Also where it hides the same as before: which fields that are is not compared.
  await eventually(async () => {
    const after = await see(id);
    for (const name of ["instance", "data", "schema", "master"] as const) {
      expect(after[name].tag).not.toBe(before[name].tag);
    }
    expect(after.state).toEqual(before.state);
    expect(after.summary).toEqual(before.summary);
  });
});

interface NoChange {
  happening: string;
  act: (id: string) => Promise<unknown>;
}

const nothings: NoChange[] = [
  {
    happening: "reading it in every way",
    async act(id) {
      const functions = ["view", "catalog", "hierarchy", "tasks", "permissions", "extensions"];
      const reads = [
        "/transitions",
        "/incidents",
        ...functions.map((name) => `/functions/${name}`),
      ];
      for (const read of reads) await other.get(`${flows.path}/${id}${read}`);
      await one.get(`${flows.path}?pageSize=5`);
    },
  },
  {
    happening: "another instance that changes",
    async act() {
      const stranger = await begin(["go", "back", "enter", "move"]);
      await flows.send(stranger, "pass");
    },
  },
  {
    // What a node does to an instance whose work it takes over.
    happening: "a write that shows nowhere",
    act: (id) => rowsOf(one.databaseUrl, "update instance set rev = rev + 1 where id = $1", [id]),
  },
  {
    happening: "a refused request",
    async act(id) {
      await flows.send(id, "back");
      await flows.send(id, "grant");
      await flows.send(id, "go", "{not json");
      await one.post(`${flows.path}/${id}/retry?sync=true`, {});
    },
  },
  {
    happening: "a component that it does not refer to",
    async act() {
      await one.publish(
        aWorkflow("inner").version("2.0.0").state("elsewhere"),
        aSchema("unrelated", { type: "object" }),
        aFunction("unrelated", "return { Data: 1 };"),
      );
      await eventually(async () => {
        expect((await other.get("/api/v1/core/functions/unrelated")).status).toBe(200);
      });
    },
  },
  {
    happening: "a new version of its workflow, with other functions",
    async act() {
      await one.publish(aWorkflow("matrix").version("2.0.0").state("here"));
      const there = instancesOf(other, "matrix");
      await eventually(async () => {
        expect((await there.read(await there.begin())).flowVersion).toBe("2.0.0");
      });
    },
  },
];

test.for(nothings)("$happening moves nothing", async ({ act }) => {
  const id = await begin();
  const before = await see(id);

  await act(id);

  expect(moved(before, await see(id))).toEqual([]);
});

test("a node that has just started names everything as the others do", async () => {
  const id = await begin();
  const before = await see(id);

  const fresh = await startRuntime({ databaseUrl: one.databaseUrl });

  expect(await seenOn(fresh, id, {})).toEqual(before);
});
