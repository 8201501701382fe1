import { expect, test } from "vitest";
import { createSandbox } from "../../src/scripting/worker/create-sandbox.ts";
import { aHandler } from "../support/a-script.ts";
import { tinyPrelude } from "../support/tiny-prelude.ts";
import { sandboxContract } from "./sandbox-contract.ts";

/** A busy machine is no reason for a script to fail; one test waits for this time to pass. */
const patient = { timeMs: 5000 };

sandboxContract("QuickJS", async () => {
  const sandbox = createSandbox({ prelude: tinyPrelude, limits: patient });
  await sandbox.warm();
  return { sandbox, compilations: () => sandbox.figures().compiled };
});

test("the product's own prelude is the one a sandbox has unless it is given another", async () => {
  const sandbox = createSandbox({ limits: patient });
  const call = sandbox.call({ script: aHandler(""), handler: "Handler", args: `{"kind":"none"}` });

  await expect(call).rejects.toThrow("'none' is not a handler kind of 'Handler'.");
  await sandbox.close();
});

test("a prelude that does not load is told to every caller", async () => {
  const sandbox = createSandbox({ prelude: { invoke: "export const invoke = missing;" } });
  const call = () => sandbox.call({ script: aHandler(""), handler: "Handler", args: "[]" });

  await expect(call()).rejects.toThrow(/cannot start/);
  await expect(call()).rejects.toThrow(/cannot start/);
});
