/**
 * Scripts that want to get out, to stay, or to take everything with them. Each costs its own call and
 * nothing else: no escape, no overrun, no delay of the host, nothing left behind.
 */
import { execFile } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ScriptFailed, ScriptSyntaxError } from "../../src/scripting/sandbox.ts";
import { createSandbox, type QuickJsSandbox } from "../../src/scripting/worker/create-sandbox.ts";
import { aHandler, aScript } from "../support/a-script.ts";
import { eventually } from "../support/eventually.ts";
import { tinyPrelude } from "../support/tiny-prelude.ts";
import { deep, endless, escapes, greedy, sources } from "./hostile.ts";

const timeMs = 150;
const memoryBytes = 16 * 1024 * 1024;
/** For scripts that are to come to their end, however busy the machine is. */
const patient = { timeMs: 60_000 };

describe("hostile scripts", () => {
  let sandbox: QuickJsSandbox;
  const lag = monitorEventLoopDelay({ resolution: 5 });
  const overruns: { name: string; ms: number }[] = [];

  beforeAll(async () => {
    sandbox = createSandbox({ prelude: tinyPrelude, threads: 2, limits: { timeMs, memoryBytes } });
    await sandbox.warm();
    await expect(works()).resolves.toBe(true);
    lag.enable();
  });
  afterAll(() => sandbox.close());

  const normal = aHandler("return input + 1");
  const works = async () =>
    (await sandbox.call({ script: normal, handler: "Handler", args: "[1]", limits: patient }))
      .value === "2";

  /** The kind of failure, or the answer. */
  const end = async (
    name: string,
    script: ReturnType<typeof aScript>,
    limits = { timeMs },
  ): Promise<string> => {
    // Loading is not the call: it happens at publish, and runs the top level under the same limits.
    const loaded = await sandbox.compile(script).catch((error: unknown) => error);
    if (loaded instanceof ScriptSyntaxError) return "refused";
    const began = performance.now();
    const ended = await sandbox.call({ script, handler: "Handler", args: "[]", limits }).then(
      ({ value }) => String(JSON.parse(value)),
      (error: unknown) => {
        if (!(error instanceof ScriptFailed)) throw error;
        expect(error.message.length).toBeLessThanOrEqual(4000);
        return error.kind;
      },
    );
    const took = performance.now() - began;
    overruns.push({ name, ms: took - timeMs });
    // Many of them would take hours if nobody ended them.
    expect(took).toBeLessThan(60_000);
    return ended;
  };

  describe.each([
    ["that do not end", endless],
    ["that take all memory", greedy],
    ["that go too deep", deep],
  ])("%s", (_, list) => {
    test.each(list)("%s", async (name, body, ends) => {
      expect([...ends, "timeout"]).toContain(await end(name, aHandler(body)));
    });
  });

  describe("that look for a way out", () => {
    test.each(escapes)("%s", async (name, body) => {
      expect(await end(name, aHandler(body), patient)).toBe("safe");
    });
  });

  describe("in their text", () => {
    test.each(sources)("%s", async (name, source) => {
      expect(await end(name, aScript(source))).not.toBe("out");
    });
  });

  test("nothing of the host is within reach of any object", async () => {
    const script = aHandler(`
      const expected = new Set([...${JSON.stringify(languageGlobals)}, Symbol.toStringTag]);
      return Reflect.ownKeys(globalThis).filter((k) => !expected.has(k)).map(String);`);
    const { value } = await sandbox.call({
      script,
      handler: "Handler",
      args: "[]",
      limits: patient,
    });

    expect(JSON.parse(value)).toEqual([]);
  });

  test("normal scripts are answered while hostile ones run, and after", async () => {
    const loops = [`for (;;);`, `for (;;) await null;`, `/^(a+)+$/.test("a".repeat(60) + "b");`];
    const known = loops.map((body) => aHandler(body));
    for (const script of known) await end("crowd", script);
    const enough = new AbortController();
    const call = { handler: "Handler", args: "[]", signal: enough.signal };
    const busy = known.flatMap((script) =>
      Array.from({ length: 6 }, () =>
        sandbox.call({ ...call, script, limits: { timeMs: 2000 } }).then(
          () => "answered",
          () => "ended",
        ),
      ),
    );

    // On a busy machine one that takes its time may be taken for slow: then it waits for some of
    // them, but never for all.
    for (let i = 0; i < 2; i += 1) expect(await works()).toBe(true);

    expect(await Promise.race([Promise.all(busy), Promise.resolve("still busy")])).toBe(
      "still busy",
    );
    enough.abort();
    await Promise.all(busy);
    expect(await works()).toBe(true);
  });

  test("what takes all memory has not got it from the process in the end", async () => {
    const program = fileURLToPath(new URL("hostile-memory.ts", import.meta.url));

    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", program]);

    const { grownBytes } = JSON.parse(stdout) as { grownBytes: number };
    expect(grownBytes).toBeLessThan(400 * 2 ** 20);
  });

  test("afterwards everything is as before", async () => {
    lag.disable();
    const alone = overruns.filter(({ name }) => name !== "crowd");
    const sorted = alone.map(({ ms }) => ms).toSorted((a, b) => a - b);
    const worst = alone.toSorted((a, b) => b.ms - a.ms).slice(0, 3);
    report({
      scripts: overruns.length,
      overrunP99: sorted[Math.floor(sorted.length * 0.99)],
      worst,
      lagP99: lag.percentile(99) / 1e6,
      lagMax: lag.max / 1e6,
      ...sandbox.figures(),
    });

    expect(await Promise.all(Array.from({ length: 50 }, works))).not.toContain(false);
    await eventually(() => expect(sandbox.figures().threads).toBe(2));
  });
});

/** `FIGURES=1` prints what was measured: a busy machine makes no promises. */
function report(figures: object): void {
  if (process.env["FIGURES"] !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`);
}

const languageGlobals = [
  "Object",
  "Error",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
  "InternalError",
  "AggregateError",
  "Array",
  "Iterator",
  "parseInt",
  "parseFloat",
  "isNaN",
  "isFinite",
  "decodeURI",
  "decodeURIComponent",
  "encodeURI",
  "encodeURIComponent",
  "escape",
  "unescape",
  "Infinity",
  "NaN",
  "undefined",
  "Number",
  "Boolean",
  "String",
  "Math",
  "Reflect",
  "Symbol",
  "globalThis",
  "BigInt",
  "Date",
  "RegExp",
  "JSON",
  "Proxy",
  "Map",
  "Set",
  "WeakMap",
  "WeakSet",
  "Promise",
];
