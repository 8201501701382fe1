/** Grants of every form against callers of every kind: executed transitions, and fields that are shown. */
import { expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import {
  callers,
  data,
  disagreements,
  forms,
  headersOf,
  mover,
  starter,
  type Cell,
} from "../support/role-model.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

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
  const id = await instances.begin({ attributes }, { headers: starter });
  await instances.send(id, state === "open" ? "touch" : "hold", {}, { headers: mover });
  return id;
}

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
      if (got)
        await instances.send(id, state === "open" ? "touch" : "touch-held", {}, { headers: mover });
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
