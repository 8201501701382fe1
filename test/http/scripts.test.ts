/** Scripts of transitions: mappings, rules and timers, and the forms a script may have. */
import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { aScriptTask, handler, output, slot, taskWith } from "../support/a-script-slot.ts";
import { aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { openIncidents } from "../support/incidents.ts";
import { idOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });
const incidentsOf = await openIncidents(app.databaseUrl);
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());
await app.publish(aScriptTask("note-it"));

async function publish(workflow: WorkflowBuilder) {
  await app.publish(workflow);
  return instancesOf(app, workflow.build().key);
}

describe("a transition's mapping", () => {
  test("replaces the payload, in the data and in the history", async () => {
    const orders = await publish(
      aWorkflow("mapped")
        .state("open")
        .transition("price", {
          mapping: handler(
            "return { total: context.Body.price * context.Instance.Data.count, by: context.Headers['x-clerk'] };",
          ),
        }),
    );
    const id = await orders.begin({ attributes: { count: 3 } });

    await orders.send(id, "price", { price: 5 }, { headers: { "X-Clerk": "Ada" } });

    expect((await orders.read(id)).attributes).toEqual({ count: 3, total: 15, by: "Ada" });
    expect((await orders.history(id)).at(-1)).toMatchObject({ body: { total: 15, by: "Ada" } });
  });

  test("of the start makes the first data", async () => {
    const orders = await publish(
      aWorkflow("mapped-start")
        .start("begin", {
          mapping: slot(`
            import { ScriptBase, type ScriptContext } from "millrace/script";
            export default class Begin extends ScriptBase {
              async Handler(context: ScriptContext) {
                return { name: context.Body.name.trim(), by: context.Transition!.Key, state: context.Instance!.CurrentState };
              }
            }`),
        })
        .state("open"),
    );

    const id = await orders.begin({ attributes: { name: " Ada ", more: 1 } });

    const read = await orders.read(id);
    expect(read.attributes).toEqual({ name: "Ada", by: "begin", state: "open" });
    expect(await orders.history(id)).toMatchObject([{ body: read.attributes }]);
  });

  test("runs in a queued transition as well", async () => {
    const orders = await publish(
      aWorkflow("mapped-queued")
        .state("open")
        .transition("add", { mapping: handler("return { sum: context.Body.a + 1 };") }),
    );
    const id = await orders.begin();

    await orders.send(id, "add", { a: 1 }, { query: "sync=false" });

    await eventually(async () => expect((await orders.read(id)).attributes).toEqual({ sum: 2 }));
  });

  test.each(["return null;", "return undefined;", ""])(
    "that answers nothing (%s) merges nothing",
    async (body) => {
      const key = `mapped-nothing-${body.length}`;
      const orders = await publish(
        aWorkflow(key)
          .state("open")
          .transition("go", { mapping: handler(body) }),
      );
      const id = await orders.begin({ attributes: { a: 1 } });

      await orders.send(id, "go", { b: 2 });

      expect(await orders.read(id)).toMatchObject({
        attributes: { a: 1 },
        metadata: { status: "A" },
      });
    },
  );

  test("of type G leaves the payload as it is", async () => {
    const orders = await publish(
      aWorkflow("mapped-global")
        .state("open")
        .transition("go", { mapping: { type: "G" } }),
    );
    const id = await orders.begin();

    await orders.send(id, "go", { a: 1 });

    expect((await orders.read(id)).attributes).toEqual({ a: 1 });
  });

  test("sees the query string and the body as it was sent, sync or queued; later hops do not", async () => {
    const orders = await publish(
      aWorkflow("mapped-request")
        .state("open")
        .transition("go", {
          to: "next",
          mapping: handler(
            "return { raw: context.RawBody, tenant: context.QueryParameters.Tenant, route: context.RouteValues.transitionKey };",
          ),
        })
        .state("next")
        .transition("on", {
          to: "end",
          otherwise: true,
          onExecutionTasks: [
            taskWith(
              "note-it",
              output(
                "return { Data: { later: [context.RawBody, context.QueryParameters, context.RouteValues.transitionKey] } };",
              ),
            ),
          ],
        })
        .state("end"),
    );
    const seen = {
      raw: '{ "b":2, "a":1.0 }',
      tenant: "t1",
      route: "go",
      later: [null, null, "on"],
    };
    const path = (id: string) => `${orders.path}/${id}/transitions/go`;

    const now = await orders.begin();
    await app.patch(`${path(now)}?sync=true&Tenant=t1`, seen.raw);
    const later = await orders.begin();
    await app.patch(`${path(later)}?Tenant=t1`, seen.raw);

    expect((await orders.read(now)).attributes).toEqual(seen);
    await eventually(async () => expect((await orders.read(later)).attributes).toEqual(seen));
  });
});

describe("a rule in TypeScript", () => {
  const scored = (key: string, rule: object) =>
    aWorkflow(key)
      .state("draft")
      .transition("submit", { to: "scoring" })
      .state("scoring")
      .transition("accept", { to: "accepted", rule })
      .transition("else", { to: "review", otherwise: true })
      .state("accepted", { type: "finish", subType: "success" })
      .state("review")
      .transition("approve", { to: "accepted" });

  test("decides by the instance's data", async () => {
    const rule = handler("return context.Instance.Data.amount <= 1000;");
    const loans = await publish(scored("ruled", rule));
    const small = await loans.begin({ attributes: { amount: 1000 } });
    const large = await loans.begin({ attributes: { amount: 1001 } });

    await loans.send(small, "submit");
    await loans.send(large, "submit");

    expect((await loans.read(small)).metadata.currentState).toBe("accepted");
    expect((await loans.read(large)).metadata.currentState).toBe("review");
  });

  test("that throws faults the instance with its own message, name and line", async () => {
    const rule = slot(
      `export function Handler(context) {
        const limit = 1000;
        throw new Error("no limit for " + context.Instance.Data.branch);
      }`,
      { location: "./src/limit.ts" },
    );
    const loans = await publish(scored("ruled-throw", rule));
    const id = await loans.begin({ attributes: { branch: "Ankara" } });

    const answer = await loans.send(id, "submit");

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
    expect(await incidentsOf(id)).toEqual([
      {
        state: "scoring",
        transition: "submit",
        task: null,
        message: "no limit for Ankara (./src/limit.ts, line 3, column 24)",
        error_code: "Transition:100007",
        error_layer: "Pipeline",
      },
    ]);
  });

  test.each([
    ["1", "must answer true or false"],
    ["undefined", "must answer true or false"],
  ])("that answers %s faults the instance", async (value, message) => {
    const loans = await publish(scored(`ruled-${value}`, handler(`return ${value};`)));
    const id = await loans.begin();

    await loans.send(id, "submit");

    const [incident] = await incidentsOf(id);
    expect(incident).toMatchObject({ error_code: "Transition:100007" });
    expect(incident?.message).toContain(message);
  });
});

describe("a timer in TypeScript", () => {
  const dueOf = async (id: string) => {
    const { rows } = await database.query<{ ready_at: Date }>(
      "select ready_at from job where instance_id = $1",
      [id],
    );
    return rows.map((row) => row.ready_at);
  };
  const timed = (key: string, code: string) =>
    aWorkflow(key)
      .state("open")
      .transition("remind", { to: "late", timer: slot(code) })
      .state("late");

  test("may answer an instant", async () => {
    const orders = await publish(
      timed(
        "timed-instant",
        `import { TimerSchedule } from "millrace/script";
         export const Handler = ({ Instance }) => TimerSchedule.FromDateTime(Instance.Data.until);`,
      ),
    );

    const id = await orders.begin({ attributes: { until: "2199-01-31T09:00:00Z" } });

    expect(await dueOf(id)).toEqual([new Date("2199-01-31T09:00:00Z")]);
  });

  test("may answer a cron expression, which is its next occurrence", async () => {
    const orders = await publish(
      timed(
        "timed-cron",
        `import { TimerSchedule } from "millrace/script";
         export const Handler = () => TimerSchedule.FromCronExpression("0 9 29 2 *");`,
      ),
    );

    const [due] = await dueOf(await orders.begin());

    expect(due?.toISOString()).toMatch(/^\d{4}-02-29T09:00:00.000Z$/);
    expect(due?.getTime()).toBeGreaterThan(Date.now());
  });

  test("may answer a duration, and fires after it", async () => {
    const orders = await publish(
      timed(
        "timed-duration",
        `import { TimerSchedule } from "millrace/script";
         export const Handler = () => TimerSchedule.FromDuration({ milliseconds: 50 });`,
      ),
    );

    const id = await orders.begin();

    await eventually(async () => {
      expect(movesOf(await orders.history(id))).toEqual(["start: open-open", "remind: open-late"]);
    });
  });

  test.each([
    ["throws", `throw new Error("no day");`, "no day (./src/script.ts, line 1"],
    ["answers no time", `return "tomorrow";`, "tomorrow"],
    [
      "answers a day that never comes",
      `return { cron: "0 0 31 2 *" };`,
      "'0 0 31 2 *', which never comes true",
    ],
  ])("that %s faults the instance", async (what, body, message) => {
    const orders = await publish(
      timed(`timed-${what.replaceAll(" ", "-")}`, `export function Handler() { ${body} }`),
    );

    const answer = await orders.start();

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
    const [incident] = await incidentsOf(idOf(answer));
    expect(incident?.message).toContain(message);
    expect(await dueOf(idOf(answer))).toEqual([]);
  });
});

describe("a script may be written as", () => {
  test.each([
    [
      "a class",
      `export default class Map { Handler(context) { return { seen: context.Body.a }; } }`,
    ],
    [
      "a class with a field",
      `export class Map { Handler = async (context) => ({ seen: context.Body.a }); }`,
    ],
    ["a function", `export function Handler(context) { return { seen: context.Body.a }; }`],
    ["an arrow function", `export const Handler = ({ Body }) => ({ seen: Body.a });`],
    [
      "an async function",
      `export async function Handler(context) { await null; return Promise.resolve({ seen: context.Body.a }); }`,
    ],
    ["a default object", `export default { Handler: (context) => ({ seen: context.Body.a }) };`],
  ])("%s", async (what, code) => {
    const key = `form-${what.replaceAll(" ", "-")}`;
    const forms = await publish(
      aWorkflow(key)
        .state("open")
        .transition("go", { mapping: slot(code) }),
    );
    const id = await forms.begin();

    await forms.send(id, "go", { a: 7 });

    expect((await forms.read(id)).attributes).toEqual({ seen: 7 });
  });
});
