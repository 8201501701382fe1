/** What goes wrong with scripts, and how it shows: at publish, in incidents, at limits, in logs. */
import { describe, expect, test, vi } from "vitest";
import { createLog } from "../../src/log.ts";
import {
  aMapping,
  aScriptTask,
  base64,
  handler,
  output,
  slot,
  taskWith,
} from "../support/a-script-slot.ts";
import { aComponent, aSchema, aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { openIncidents } from "../support/incidents.ts";
import { instancesOf } from "../support/instances-of.ts";
import { publishPath, startRuntimeForFile } from "../support/start-runtime.ts";

const secret = "sk-live-0123456789";
vi.stubEnv("TEST_SCRIPT_Rates__Base", "1.5");
vi.stubEnv("TEST_SCRIPT_HIDDEN", "hidden");
vi.stubEnv("TEST_SCRIPT_SECRET", secret);
const written: string[] = [];
const app = await startRuntimeForFile({
  log: createLog({ level: "trace", destination: { write: (line) => written.push(line) } }),
  settings: {
    "Scripting.Environment": ["TEST_SCRIPT_Rates__Base", "TEST_SCRIPT_ABSENT"],
    "Scripting.Secrets": ["vault/payments/api-key=TEST_SCRIPT_SECRET"],
  },
});
/** Only scripts that are to run out of time have little of it. */
const impatient = await startRuntimeForFile({
  databaseUrl: app.databaseUrl,
  settings: { "Scripting.TimeoutMs": 1000 },
});
const incidentsOf = await openIncidents(app.databaseUrl);
await app.publish(aScriptTask("note-it"));

async function publish(workflow: WorkflowBuilder) {
  await app.publish(workflow);
  return instancesOf(app, workflow.build().key);
}

/** Sends `go`, whose mapping this is, to an instance. */
async function map(key: string, mapping: object, body: object = {}, node = app) {
  const flow = await publish(aWorkflow(key).state("open").transition("go", { mapping }));
  const id = await flow.begin();
  await instancesOf(node, key).send(id, "go", { attributes: body });
  const [incident] = await incidentsOf(id);
  return { id, instance: await flow.read(id), incident };
}

describe("a script that does not compile is refused at publish", () => {
  test("all of a workflow at once, each with its slot, line and column", async () => {
    const broken = slot("export function Handler(context) {\n  return context.;\n}");

    const answer = await app.post(
      publishPath,
      aWorkflow("broken")
        .state("open", { onEntries: [taskWith("note-it", slot("export const = 1;"))] })
        .transition("go", { to: "next", mapping: broken })
        .state("next")
        .transition("up", { to: "end", rule: slot("export const Handler = () => tru e;") })
        .transition("late", { to: "end", timer: slot("class {") })
        .state("end", { type: "finish" })
        .with({ output: slot("enum Color { red }") }),
    );

    expect(answer).toMatchObject({ status: 400, body: { errorCode: "validation.App:900006" } });
    const { errors } = answer.body as { errors: Record<string, string[]> };
    const place = expect.stringMatching(/ \(line \d+, column \d+\)$/) as string;
    expect(errors).toEqual({
      "attributes.states[0].onEntries[0].mapping.code": [place],
      "attributes.states[0].transitions[0].mapping.code": [
        expect.stringMatching(/ \(line 2, column 18\)$/),
      ],
      "attributes.states[1].transitions[0].rule.code": [place],
      "attributes.states[1].transitions[1].timer.code": [place],
      "attributes.output.code": [
        expect.stringContaining("Enums are not supported: write a constant object") as string,
      ],
    });
    expect(await app.get("/api/v1/core/workflows/sys-flows/instances/broken")).toMatchObject({
      status: 404,
    });
  });

  test("an expression as well", async () => {
    const answer = await app.post(
      publishPath,
      aWorkflow("broken-expression")
        .state("open")
        .transition("up", { to: "open", rule: "context.Body. ==" }),
    );

    expect(answer.status).toBe(400);
    expect(answer.text).toContain("attributes.states[0].transitions[0].rule.code");
  });

  test("an import that no script has as well", async () => {
    const answer = await app.post(
      publishPath,
      aWorkflow("importing")
        .state("open")
        .transition("go", { mapping: slot(`import fs from "node:fs";`) }),
    );

    expect(answer.status).toBe(400);
    expect(answer.text).toContain("Cannot find module 'node:fs'");
  });

  test("in a seed record as well", async () => {
    const { attributes } = aMapping("seeded", "export const a = ;");

    const answer = await app.post(publishPath, {
      ...aWorkflow("sys-mappings").state("active").build(),
      data: [{ key: "seeded", version: "1.0.0", attributes }],
    });

    expect(answer.status).toBe(400);
    expect(answer.text).toContain("data[0].attributes.code");
  });

  test("a member called code elsewhere is no script", async () => {
    const code = base64("not { a script");

    await app.publish(
      aSchema("codes", {
        type: "object",
        properties: { code: { type: "string" }, type: { type: "string" } },
        examples: [{ code, type: "x" }],
      }),
      aScriptTask("with-body", { body: { code, type: "x" } }),
      aComponent("sys-views", "page", { type: 1, labels: [], content: { code, type: "page" } }),
    );
  });
});

describe("C#", () => {
  const csharp = slot(
    `using System.Threading.Tasks;
     public class Map : ITransitionMapping { public async Task<dynamic> Handler(ScriptContext context) => new { a = 1 }; }`,
    { location: "./src/Map.csx" },
  );

  test("is accepted at publish with a warning, and faults with a clear message when reached", async () => {
    const answer = await app.post(
      publishPath,
      aWorkflow("csharp")
        .state("open")
        .transition("go", { mapping: csharp })
        .transition("rest", {}),
    );
    expect(answer).toMatchObject({
      status: 200,
      body: {
        warnings: [
          {
            path: "attributes.states[0].transitions[0].mapping",
            message: expect.stringContaining("C#") as string,
          },
        ],
      },
    });

    const flow = instancesOf(app, "csharp");
    const id = await flow.begin();
    expect(await flow.send(id, "rest")).toMatchObject({ body: { status: "A" } });
    expect(await flow.send(id, "go")).toMatchObject({ status: 200, body: { status: "F" } });
    expect((await incidentsOf(id))[0]?.message).toMatch(/'\.\/src\/Map\.csx' is written in C#/);
  });

  test("is told by an explicit language, whatever the location says", async () => {
    const { incident } = await map("csharp-by-name", {
      ...csharp,
      location: "x",
      language: "csharp",
    });

    expect(incident?.message).toContain("is written in C#");
  });
});

describe("a script that fails", () => {
  test.each([
    ["a text", `throw "plain text";`, "plain text"],
    ["nothing", `throw undefined;`, "undefined"],
    ["an error of the engine", `null.x;`, "cannot read property 'x' of null"],
    ["a rejected promise", `return Promise.reject(new Error("later"));`, "later"],
  ])("with %s shows it in the incident", async (what, body, message) => {
    const key = `fails-${what.replaceAll(" ", "-")}`;

    const { incident, instance } = await map(key, handler(body));

    expect(instance.metadata.status).toBe("F");
    expect(incident?.message).toContain(message);
    expect(incident?.message).toContain("./src/script.ts");
    expect(incident).toMatchObject({ transition: "go", error_layer: "Pipeline" });
  });

  test("because it lacks the handler says which it has", async () => {
    const { incident } = await map("fails-without", slot("export const OutputHandler = () => 1;"));

    expect(incident?.message).toContain(
      "No handler 'Handler' found. Available: OutputHandler. (./src/script.ts)",
    );
  });
});

describe("a limit ends the script and faults the instance, and says which", () => {
  test.each([
    ["time", "for (;;);"],
    ["time, caught", "for (;;) { try { for (;;); } catch {} }"],
  ])("%s", async (what, body) => {
    const key = `limit-${what.replaceAll(/\W+/g, "-")}`;

    const { incident, instance } = await map(key, handler(body), {}, impatient);

    expect(instance.metadata.status).toBe("F");
    expect(incident?.message).toContain("The script runs longer than it may");
  });

  test.each([
    ["depth", "const f = () => f() + 1; return f();", "The script calls itself too deeply"],
    ["memory", `return { a: "x".repeat(6e7).length };`, "The script uses more memory than it may"],
    ["output", `return { a: "x".repeat(2e6) };`, "The script's answer is longer than"],
    ["a promise nobody keeps", "return new Promise(() => {});", "never settles"],
  ])("%s", async (what, body, message) => {
    const { incident, instance } = await map(
      `limit-${what.replaceAll(/\W+/g, "-")}`,
      handler(body),
    );

    expect(instance.metadata.status).toBe("F");
    expect(incident?.message).toContain(message);
  });
});

describe("configuration and secrets", () => {
  test("are what the settings allow, and nothing else", async () => {
    const { instance } = await map(
      "configured",
      slot(`
        import { ScriptBase } from "millrace/script";
        export default class Read extends ScriptBase {
          async Handler() {
            return {
              base: this.GetConfigValue("TEST_SCRIPT_Rates:Base", 0.1),
              hidden: this.GetConfigValue("TEST_SCRIPT_HIDDEN"),
              absent: this.ConfigExists("TEST_SCRIPT_ABSENT"),
              length: (await this.GetSecretAsync("vault", "payments", "api-key")).length,
              none: this.GetSecret("vault", "payments", "other"),
            };
          }
        }`),
    );

    expect(instance.attributes).toEqual({
      base: 1.5,
      hidden: null,
      absent: false,
      length: secret.length,
      none: "",
    });
  });

  const telling = (what: string) =>
    slot(`
      import { ScriptBase } from "millrace/script";
      export default class Tell extends ScriptBase {
        Handler() {
          const key = this.GetSecret("vault", "payments", "api-key");
          ${what}
        }
        OutputHandler() { return this.Handler(); }
      }`);

  test("a secret is masked in an incident", async () => {
    const { incident } = await map("telling", telling(`throw new Error("no access with " + key);`));

    expect(incident?.message).toContain("no access with ***");
  });

  test("a secret is masked in the log, also when the output script fails with it", async () => {
    written.length = 0;
    const flow = await publish(
      aWorkflow("telling-output")
        .state("open")
        .with({ output: telling(`this.LogWarning("key {key}", key); throw new Error(key);`) }),
    );

    await flow.start();

    const lines = written.filter((line) => /OutputScriptFailed|ScriptLog/.test(line));
    expect(lines).toHaveLength(2);
    expect(lines.join("")).toContain("key ***");
    expect(written.join("")).not.toContain(secret);
  });
});

describe("what a script logs", () => {
  test("is in the log with its level, its script and the instance", async () => {
    written.length = 0;

    const { id } = await map(
      "logging",
      slot(`
        import { ScriptBase } from "millrace/script";
        export default class Log extends ScriptBase {
          Handler(context) {
            this.LogDebug("amount {amount} of {who}", context.Body.amount, "Ada");
            this.LogError("odd");
            return {};
          }
        }`),
      { amount: 5 },
    );

    const lines = written
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === "ScriptLog");
    const where = {
      script: "./src/script.ts",
      instance: id,
      workflow: "logging",
      transition: "go",
    };
    expect(lines).toMatchObject([
      { level: "debug", message: "amount 5 of Ada", ...where },
      { level: "error", message: "odd", ...where },
    ]);
  });

  test("is there as well when the script fails", async () => {
    written.length = 0;

    await map(
      "logging-and-failing",
      slot(`
        import { ScriptBase } from "millrace/script";
        export class Log extends ScriptBase {
          Handler() { this.LogInformation("before"); throw new Error("then"); }
        }`),
    );

    expect(written.join("")).toContain('"message":"before"');
  });
});

test("a helper in C# is a warning for a script in TypeScript, and faults when reached", async () => {
  await app.publish(
    aMapping("cs-helper", "public static class Money { }", { location: "./src/Money.csx" }),
  );
  const helper = { key: "cs-helper", domain: "core", flow: "sys-mappings", version: "1.0.0" };

  const { incident } = await map(
    "csharp-helper",
    handler("return {};", { scripts: { helpers: [helper] } }),
  );

  expect(incident?.message).toContain("The helper 'cs-helper' is written in C#");
});

test("a task's script that throws names the task; the expression rule after it is not reached", async () => {
  const flow = await publish(
    aWorkflow("task-and-rule")
      .state("open")
      .transition("go", { to: "next", onExecutionTasks: [taskWith("note-it", output("x();"))] })
      .state("next")
      .transition("up", { to: "open", rule: "true" }),
  );
  const id = await flow.begin();

  await flow.send(id, "go");

  expect(await incidentsOf(id)).toMatchObject([{ task: "note-it", state: "open" }]);
});
