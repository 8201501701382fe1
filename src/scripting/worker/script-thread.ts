/** The program of a script thread: takes one request at a time and answers it. */
import { parentPort, workerData } from "node:worker_threads";
import type { LogLine } from "../log-line.ts";
import type { EngineParts } from "./engine.ts";
import { loadBase } from "./load-base.ts";
import type { FromThread, KnownScript, ThreadData, ToThread } from "./messages.ts";
import { Failed } from "./call-failures.ts";
import { Refused, ScriptEngine } from "./script-engine.ts";

const data = workerData as ThreadData;
const host = parentPort!;
const say = (message: FromThread) => host.postMessage(message, []);

const parts: EngineParts = {
  wasm: data.wasm,
  load: ((await import(data.glueUrl)) as { default: EngineParts["load"] }).default,
  functions: ((await import(data.functionsUrl)) as { QuickJSFFI: EngineParts["functions"] })
    .QuickJSFFI,
};
const base = data.base ?? (await loadBase(parts, data.prelude));
const engine = new ScriptEngine(parts, base, data.prelude);
const known = new Map<string, KnownScript>();
await engine.ready();

host.on("message", (message: ToThread) => {
  if (message.kind === "forget") known.delete(message.id);
  else if (message.kind === "compile") void compile(message);
  else void call(message);
});
say({ kind: "ready", base });

async function compile({ number, script, limits }: ToThread & { kind: "compile" }): Promise<void> {
  try {
    say({ kind: "compiled", number, loaded: await engine.load(script, limits) });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { message, scriptName: name, position } = error;
    say({ kind: "refused", number, message, name, ...(position && { position }) });
  }
  await engine.ready();
}

async function call(request: ToThread & { kind: "call" }): Promise<void> {
  const { number, id, handler, args, limits } = request;
  const { script, loaded } = request.learn ?? known.get(id)!;
  if (request.learn?.keep === true) known.set(id, { script, loaded });
  const logs: LogLine[] = [];
  const began = performance.now();
  const isStopped = () => Atomics.load(data.stop, 0) === number;
  try {
    const value = await engine.call({ script, loaded, handler, args, limits, isStopped, logs });
    say({ kind: "answered", number, value, logs, tookMs: performance.now() - began });
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    const tookMs = performance.now() - began;
    say({ kind: "failed", number, failure: error.failure, logs, tookMs });
  }
  await engine.ready();
}
