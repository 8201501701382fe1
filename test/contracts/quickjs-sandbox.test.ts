import { createSandbox } from "../../src/scripting/worker/create-sandbox.ts";
import { tinyPrelude } from "../support/tiny-prelude.ts";
import { sandboxContract } from "./sandbox-contract.ts";

sandboxContract("QuickJS", async () => {
  const sandbox = createSandbox({ prelude: tinyPrelude });
  await sandbox.warm();
  return { sandbox, compilations: () => sandbox.figures().compiled };
});
