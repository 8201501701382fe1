/**
 * Who may look: every read behind `queryRoles`, and what `authorize` says of it, where the grants are
 * the workflow's, the state's, or a parent's for its subflow.
 */
import { expect, test } from "vitest";
import { allow, deny } from "../support/a-function.ts";
import { aComponent, aSchema, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf, type Instances } from "../support/instances-of.ts";
import {
  callers,
  data,
  disagreements,
  forms,
  has,
  headersOf,
  mover,
  starter,
  type Caller,
  type Cell,
  type Form,
} from "../support/role-model.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";
import { between, inside } from "../support/subflows.ts";

const app = await startRuntimeForFile();

const view = { view: { key: "page", domain: "core", flow: "sys-views", version: "latest" } };
const within = (queryRoles: object[] | undefined) =>
  inside("looked-into", {
    mapping: between("return { Data: context.Instance.Data };"),
    ...(queryRoles === undefined ? {} : { overrides: { states: { waiting: { queryRoles } } } }),
  });

/** Each with a state of its own that has what another form grants, and one that holds a subflow. */
const flowOf = (form: Form, other: Form) =>
  aWorkflow(`looked-at-${form.name}`)
    .schema("form")
    .state("plain", { view })
    .transition("touch", { schema: "form" })
    .transition("close", { to: "closed" })
    .transition("enter", { to: "replaced" })
    .transition("enter-closed", { to: "unreplaced" })
    .state("closed", { view, queryRoles: other.grants })
    .transition("touch", { schema: "form" })
    .state("replaced", { ...within(form.grants), queryRoles: [deny("guest")] })
    .state("unreplaced", { ...within(undefined), queryRoles: form.grants })
    .shared("touch-outer")
    .with({ queryRoles: form.grants });

const otherThan = (form: Form): Form => forms[(forms.indexOf(form) + 1) % forms.length]!;

await app.publish(
  aSchema("form", { type: "object" }),
  aComponent("sys-views", "page", { type: 1, content: {} }),
  aWorkflow("looked-into")
    .schema("form")
    .state("waiting", { view, queryRoles: [allow("clerk")] })
    .transition("touch", { schema: "form" }),
  ...forms.map((form) => flowOf(form, otherThan(form))),
);

/** Each read, and what it answers to who may look. */
const reads: Record<string, number> = {
  "functions/state": 200,
  "functions/data": 200,
  data: 200,
  "functions/view": 200,
  "functions/schema?transitionKey=touch": 200,
  "functions/master": 200,
  "functions/extensions": 200,
  "functions/hierarchy": 200,
  "functions/instance-correlation": 200,
  "functions/tasks": 200,
  "functions/actions?taskId=none": 404,
  incidents: 200,
  "incidents/active": 404,
  "functions/authorize?queryRoles=true": 200,
  "functions/authorize?queryRoles=true&explain=true": 200,
  "functions/authorize?functionKey=state": 200,
  "functions/authorize?functionKey=data&explain=true": 200,
  "functions/authorize?functionKey=tasks": 200,
};

interface Place {
  place: string;
  ways: string[];
  lets: (form: Form, caller: Caller) => boolean;
}

const places: Place[] = [
  { place: "by the workflow's", ways: [], lets: (form, caller) => form.lets(caller) },
  {
    place: "by the state's",
    ways: ["close"],
    // A state without grants leaves it to the workflow.
    lets: (form, caller) =>
      (otherThan(form).grants.length === 0 ? form : otherThan(form)).lets(caller),
  },
  {
    place: "by the parent's for its subflow, and the parent's own",
    ways: ["enter"],
    lets: (form, caller) => form.lets(caller) && !has(caller, "guest"),
  },
  {
    place: "by the subflow's and the parent's own",
    ways: ["enter-closed"],
    lets: (form, caller) => form.lets(caller) && has(caller, "clerk"),
  },
];

async function answered(flows: Instances, id: string, caller: Caller): Promise<Cell["got"][]> {
  const verdicts: boolean[] = [];
  for (const [read, good] of Object.entries(reads)) {
    const { status, body } = await app.get(`${flows.path}/${id}/${read}`, headersOf(caller));
    expect([read, [good, 403].includes(status)]).toEqual([read, true]);
    if (read.includes("authorize")) expect(body).toMatchObject({ allowed: status === good });
    verdicts.push(status === good);
  }
  return verdicts;
}

test.for(places)(
  "$place queryRoles: every read, and authorize, are as the model says",
  { timeout: 120_000 },
  async ({ place, ways, lets }) => {
    const cells: Cell[] = [];
    for (const form of forms) {
      const flows = instancesOf(app, `looked-at-${form.name}`);
      const id = await flows.begin({ attributes: data }, { headers: starter });
      // Whoever opens a subflow is known to it as its starter.
      for (const way of ways) await flows.send(id, way, {}, { headers: starter });
      for (const way of ["touch", "touch-outer"]) {
        expect(await flows.send(id, way, {}, { headers: mover })).toMatchObject({ status: 200 });
      }

      const asked = await Promise.all(callers.map((caller) => answered(flows, id, caller)));

      for (const [i, caller] of callers.entries()) {
        const expected = lets(form, caller);
        for (const [j, read] of Object.keys(reads).entries()) {
          cells.push({ surface: `${read}, ${place}`, form, caller, expected, got: asked[i]![j]! });
        }
      }
    }

    expect(cells).toHaveLength(forms.length * callers.length * Object.keys(reads).length);
    expect(disagreements(cells)).toEqual([]);
  },
);

test("who may not look is not told either that nothing has changed", async () => {
  const flows = instancesOf(app, "looked-at-allow");
  const id = await flows.begin({ attributes: data });
  const headers = { role: "guest", "if-none-match": "*" };

  for (const read of Object.keys(reads)) {
    const { status } = await app.get(`${flows.path}/${id}/${read}`, headers);
    expect([read, status]).toEqual([read, 403]);
  }
});
