/**
 * Runs the scripts that take memory in a process of its own, where nobody else uses any, and says in
 * one line of JSON by how many bytes it has grown.
 */
import { createSandbox } from "../../src/scripting/worker/create-sandbox.ts";
import { aHandler } from "../support/a-script.ts";
import { tinyPrelude } from "../support/tiny-prelude.ts";
import { deep, greedy } from "./hostile.ts";

const limits = { timeMs: 150, memoryBytes: 16 * 1024 * 1024 };
const sandbox = createSandbox({ prelude: tinyPrelude, threads: 2, limits });
await sandbox.warm();
const before = process.memoryUsage.rss();
for (const [, body] of [...greedy, ...deep]) {
  const script = aHandler(body);
  await sandbox.call({ script, handler: "Handler", args: "[]" }).catch(() => {});
}
const grownBytes = process.memoryUsage.rss() - before;
process.stdout.write(`${JSON.stringify({ grownBytes })}\n`);
await sandbox.close();
