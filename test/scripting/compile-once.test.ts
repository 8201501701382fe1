import { afterAll, expect, test } from "vitest";
import { readScriptCode, type ScriptCode } from "../../src/engine/definition/script-code.ts";
import { createSandboxHost } from "../../src/scripting/sandbox-host.ts";
import type { ScriptHost } from "../../src/scripting/script-host.ts";
import { createSandbox } from "../../src/scripting/worker/create-sandbox.ts";
import { handler, mappingRef } from "../support/a-script-slot.ts";

const sandbox = createSandbox({ limits: { timeMs: 60_000 } });
afterAll(() => sandbox.close());

const context = {
  values: () => {
    throw new Error("not asked for");
  },
  json: (member: string) => (member === "Body" ? `{"n":1}` : undefined),
};

function aHost(): ScriptHost {
  const money = { name: "money", code: "export const one = 1;", location: "./money.ts" };
  return createSandboxHost({
    sandbox,
    findMapping: async () => ({ ...money }),
    config: {},
    secrets: {},
    mask: (text) => text,
    onLog: () => {},
    now: () => new Date(0),
  });
}

const read = (code: string): ScriptCode => readScriptCode(handler(code), { domain: "core" })!;

test("a script is compiled once: at publish, by thirty first callers, after a reload", async () => {
  const before = sandbox.figures().compiled;
  const helpers = [mappingRef("money")];
  const script = read("return { sum: context.Body.n + one };");
  const host = aHost();

  await Promise.all([host.check(script, helpers), host.check(script, helpers)]);
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => host.map({ script, helpers, context })),
  );
  // Definitions that are read anew are other objects with the same content.
  const again = read("return { sum: context.Body.n + one };");
  await aHost().map({ script: again, helpers, context });

  expect(answers).toEqual(answers.map(() => ({ sum: 2 })));
  expect(sandbox.figures().compiled - before).toBe(1);
});

test("thirty first callers of a script that was never checked share one compilation", async () => {
  const before = sandbox.figures().compiled;
  const script = read("return { seen: context.Body.n };");
  const host = aHost();

  const answers = await Promise.all(
    Array.from({ length: 30 }, () => host.map({ script, helpers: [], context })),
  );

  expect(answers).toEqual(answers.map(() => ({ seen: 1 })));
  expect(sandbox.figures().compiled - before).toBe(1);
});

test("only the members that a script uses are asked for", async () => {
  const asked: string[] = [];
  const script = read("return { seen: context.Body.n };");

  await aHost().map({
    script,
    helpers: [],
    context: { ...context, json: (member) => (asked.push(member), `{"n":1}`) },
  });

  expect(asked).toEqual(["Body"]);
});
