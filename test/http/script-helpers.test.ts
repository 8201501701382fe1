/** Code that scripts share: helpers of a workflow and of a slot, and whole mappings by reference. */
import { describe, expect, test } from "vitest";
import { aMapping, handler, mappingRef, refSlot, slot } from "../support/a-script-slot.ts";
import { aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { openIncidents } from "../support/incidents.ts";
import { instancesOf } from "../support/instances-of.ts";
import { publishPath, startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const incidentsOf = await openIncidents(app.databaseUrl);
await app.publish(
  aMapping("money", `export const Money = { round: (n: number) => Math.round(n * 100) / 100 };`),
  aMapping("dates", `export function day(text: string) { return text.slice(0, 10); }`),
);

const helpers = (...keys: string[]) => ({
  scripts: { helpers: keys.map((key) => mappingRef(key)) },
});

/** Publishes the workflow and sends `go` to an instance of it. */
async function go(workflow: WorkflowBuilder, body: object = {}) {
  await app.publish(workflow);
  const flow = instancesOf(app, workflow.build().key);
  const id = await flow.begin();
  await flow.send(id, "go", { attributes: body });
  return { id, instance: await flow.read(id), flow };
}

const withMapping = (key: string, mapping: object) =>
  aWorkflow(key).state("open").transition("go", { mapping });

describe("helpers", () => {
  test("of the workflow are there in each of its scripts, without an import", async () => {
    const { instance } = await go(
      aWorkflow("workflow-helpers")
        .state("open")
        .transition("go", {
          to: "scored",
          mapping: handler("return { sum: Money.round(context.Body.sum) };"),
        })
        .state("scored")
        .transition("up", { to: "high", rule: handler("return Money.round(9.999) === 10;") })
        .state("high")
        .with(helpers("money")),
      { sum: 1.005 },
    );

    expect(instance).toMatchObject({
      attributes: { sum: 1 },
      metadata: { currentState: "high" },
    });
  });

  test("may be imported by name", async () => {
    const { instance } = await go(
      withMapping(
        "imported-helper",
        slot(
          `import { Money as M } from "money";
           import { day } from "dates";
           export const Handler = ({ Body }) => ({ sum: M.round(Body.sum), day: day(Body.at) });`,
          helpers("money", "dates"),
        ),
      ),
      { sum: 2.344, at: "2026-01-31T09:00:00Z" },
    );

    expect(instance.attributes).toEqual({ sum: 2.34, day: "2026-01-31" });
  });

  test("of the workflow and of the slot are united", async () => {
    const { instance } = await go(
      withMapping(
        "united-helpers",
        handler(`return { sum: Money.round(0.125), day: day("2026-01-31T09:00:00Z") };`, {
          ...helpers("dates", "money"),
        }),
      ).with(helpers("money")),
    );

    expect(instance.attributes).toEqual({ sum: 0.13, day: "2026-01-31" });
  });

  test("that throw are named in the incident, with their own line", async () => {
    await app.publish(
      aMapping(
        "strict",
        `export function strict(value) {
           if (value === undefined) throw new Error("nothing given");
         }`,
      ),
    );

    const { id } = await go(
      withMapping("throwing-helper", handler("strict(undefined);", helpers("strict"))),
    );

    const [incident] = await incidentsOf(id);
    expect(incident?.message).toMatch(/^nothing given \(strict, line 2, column \d+\)$/);
  });

  test("with a mistake in them are refused at publish, with line and column", async () => {
    const answer = await app.post(
      publishPath,
      aMapping("broken", "export const a = 1;\nexport b;"),
    );

    expect(answer).toMatchObject({
      status: 400,
      body: { errorCode: "validation.App:900006" },
    });
    expect(answer.text).toMatch(/"attributes.code":\["[^"]+\(line 2, column \d+\)"\]/);
  });

  test("that are not there are a warning at publish, and a fault when the script is reached", async () => {
    const workflow = withMapping("absent-helper", handler("return { a: 1 };", helpers("absent")));
    const missing =
      "Helper component could not be resolved: core/sys-mappings/absent/1.0.0. Publish it first.";

    const answer = await app.post(publishPath, workflow);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        warnings: [{ path: "attributes.states[0].transitions[0].mapping", message: missing }],
      },
    });

    const flow = instancesOf(app, "absent-helper");
    const id = await flow.begin();
    expect(await flow.send(id, "go")).toMatchObject({ status: 200, body: { status: "F" } });
    expect(await incidentsOf(id)).toMatchObject([{ message: `${missing} (./src/script.ts)` }]);
  });

  test("that come later are found without a restart", async () => {
    const workflow = withMapping("later-helper", handler("return { a: late() };", helpers("late")));
    await app.publish(workflow);
    const flow = instancesOf(app, "later-helper");
    const id = await flow.begin();
    await app.publish(aMapping("late", "export const late = () => 1;"));

    await flow.send(id, "go");

    expect((await flow.read(id)).attributes).toEqual({ a: 1 });
  });

  test("a newer version is taken up where the reference names a range", async () => {
    const workflow = withMapping(
      "ranged-helper",
      handler("return { v: version() };", {
        scripts: { helpers: [mappingRef("ranged", "1")] },
      }),
    );
    await app.publish(aMapping("ranged", "export const version = () => '1.0';"), workflow);
    const flow = instancesOf(app, "ranged-helper");
    const id = await flow.begin();
    await flow.send(id, "go");
    expect((await flow.read(id)).attributes).toEqual({ v: "1.0" });

    const newer = aMapping("ranged", "export const version = () => '1.1';");
    await app.publish({ ...newer, version: "1.1.0" });
    await flow.send(id, "go");

    expect((await flow.read(id)).attributes).toEqual({ v: "1.1" });
  });
});

describe("a slot with the encoding REF", () => {
  test("runs the mapping it refers to, with the helpers of the workflow", async () => {
    await app.publish(
      aMapping(
        "to-money",
        "export const Handler = ({ Body }) => ({ sum: Money.round(Body.sum) });",
      ),
    );

    const { instance } = await go(
      withMapping("referred", refSlot("to-money")).with(helpers("money")),
      { sum: 0.999 },
    );

    expect(instance.attributes).toEqual({ sum: 1 });
  });

  test("that leads nowhere is a warning at publish, and a fault when it is reached", async () => {
    const answer = await app.post(publishPath, withMapping("referred-nowhere", refSlot("nowhere")));
    const flow = instancesOf(app, "referred-nowhere");
    const id = await flow.begin();
    await flow.send(id, "go");

    const missing =
      "Referenced mapping component could not be resolved: core/sys-mappings/nowhere/1.0.0. Publish it first.";
    expect(answer).toMatchObject({ status: 200, body: { warnings: [{ message: missing }] } });
    expect(await incidentsOf(id)).toMatchObject([
      { message: expect.stringContaining(missing) as string },
    ]);
  });
});

test("thirty first calls of a script that never ran, after a restart, all succeed", async () => {
  const first = await startRuntime();
  await first.publish(
    aMapping("shared-code", "export const twice = (n) => n * 2;"),
    aWorkflow("crowd")
      .start("begin", { mapping: handler("return { n: twice(context.Body.n) };") })
      .state("open")
      .with(helpers("shared-code")),
  );

  const second = await startRuntime({ databaseUrl: first.databaseUrl });
  const flow = instancesOf(second, "crowd");
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => flow.start({ attributes: { n } })),
  );

  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(answers.map(({ body }) => body)).toMatchObject(
    answers.map((_, n) => ({ status: "A", attributes: { n: n * 2 } })),
  );
  await second.stop();
});
