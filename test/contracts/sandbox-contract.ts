/** What every sandbox promises (src/scripting/sandbox.ts). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ScriptFailed,
  ScriptSyntaxError,
  type Sandbox,
  type SandboxCall,
  type SandboxLimits,
  type SandboxScript,
} from "../../src/scripting/sandbox.ts";
import { aHandler, aScript } from "../support/a-script.ts";
import { eventually } from "../support/eventually.ts";

export interface OpenSandbox {
  readonly sandbox: Sandbox;
  /** How many compilations there have been. */
  compilations(): number;
}

/** `open` makes a sandbox with `tinyPrelude`, at least two workers and some seconds for every call. */
export function sandboxContract(name: string, open: () => Promise<OpenSandbox>): void {
  describe(`${name} sandbox`, () => {
    let opened: OpenSandbox;
    let sandbox: Sandbox;
    beforeAll(async () => {
      opened = await open();
      ({ sandbox } = opened);
    });
    afterAll(() => sandbox.close());

    const call = (script: SandboxScript, args: unknown[] = [], more: Partial<SandboxCall> = {}) =>
      sandbox.call({ script, handler: "Handler", args: JSON.stringify(args), ...more });
    const answer = async (script: SandboxScript, args: unknown[] = []): Promise<unknown> =>
      JSON.parse((await call(script, args)).value);
    const failure = async (
      script: SandboxScript,
      limits: Partial<SandboxLimits> = {},
    ): Promise<ScriptFailed> => {
      const error = await call(script, [], { limits }).then(
        ({ value }) => new Error(`answered ${value.slice(0, 100)}`),
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(ScriptFailed);
      return error as ScriptFailed;
    };
    const refusal = async (script: SandboxScript): Promise<ScriptSyntaxError> => {
      const error = await sandbox.compile(script).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ScriptSyntaxError);
      return error as ScriptSyntaxError;
    };

    describe("answers", () => {
      test("a method of the default class is called on a new object", async () => {
        const script = aScript(
          `import { ScriptBase } from "vnext:script";
           export default class extends ScriptBase { base = 40; Handler(n) { return this.base + n; } }`,
        );

        expect(await answer(script, [2])).toBe(42);
      });

      test("an exported function is called by its name", async () => {
        const script = aScript(`export const Handler = (a, b) => ({ sum: a + b });`);

        expect(await answer(script, [1, 2])).toEqual({ sum: 3 });
      });

      test("'millrace/script' and 'vnext:script' are the same module", async () => {
        const script = aScript(
          `import { ScriptBase as A } from "millrace/script";
           import { ScriptBase as B } from "vnext:script";
           export const Handler = () => A === B;`,
        );

        expect(await answer(script)).toBe(true);
      });

      test("promises are awaited, however long the chain", async () => {
        const script = aHandler(`
          let n = 0;
          for (let i = 0; i < 5000; i++) n += await Promise.resolve(1);
          return n;`);

        expect(await answer(script)).toBe(5000);
      });

      test("a thenable is awaited", async () => {
        const script = aScript(`export const Handler = () => ({ then: (ok) => ok("later") });`);

        expect(await answer(script)).toBe("later");
      });

      test("the top level may await", async () => {
        const script = aScript(
          `const ready = await Promise.resolve("yes"); export const Handler = () => ready;`,
        );

        expect(await answer(script)).toBe("yes");
      });

      test("an answer of undefined is what the prelude makes of it", async () => {
        expect((await call(aHandler(""))).value).toBe("null");
      });

      test.each([
        ["a negative zero", -0, 0],
        ["a lone surrogate", "a\ud800b", "a\ud800b"],
        ["an emoji", "👩‍🚀", "👩‍🚀"],
        ["a zero character", "a\u0000b", "a\u0000b"],
        ["line separators", "\u2028\u2029", "\u2028\u2029"],
        ["a large integer", Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
        ["a small number", 5e-324, 5e-324],
        ["a long text", "ü".repeat(200_000), "ü".repeat(200_000)],
        ["nothing", null, null],
        ["a deep array", deep(200), deep(200)],
      ])("%s comes back", async (_, given, expected) => {
        expect(await answer(aHandler("return input"), [given])).toEqual(expected);
      });

      test("__proto__ is a key like any other", async () => {
        const args = `[{"__proto__":{"admin":true},"constructor":1}]`;
        const { value } = await call(aHandler("return [input, input.admin === undefined]"), [], {
          args,
        });

        expect(value).toBe(`[{"__proto__":{"admin":true},"constructor":1},true]`);
      });

      test("what is not JSON is no answer", async () => {
        const script = aHandler(`JSON.stringify = () => "{"; return 1;`);

        expect(await failure(script)).toMatchObject({ kind: "threw" });
      });
    });

    describe("state", () => {
      test("nothing a call changes is there in the next", async () => {
        const script = aScript(`
          let calls = 0;
          const seen = [];
          export class Kept { static count = 0; }
          export function Handler() {
            const before = [calls, seen.length, Kept.count, globalThis.left, [].left, Math.max(1, 2)];
            calls++; seen.push(1); Kept.count++;
            globalThis.left = 1; Object.prototype.left = 1; Math.max = () => 99;
            return before;
          }`);
        const first = await call(script);

        for (let i = 0; i < 5; i += 1) expect((await call(script)).value).toBe(first.value);
      });

      test("scripts do not see each other", async () => {
        await call(aHandler(`globalThis.secret = "mine"; Object.prototype.secret = "mine";`));

        expect(await answer(aHandler(`return typeof secret`))).toBe("undefined");
      });

      test("a call that was cut off leaves nothing behind", async () => {
        const script = aScript(`let n = 0; export function Handler(stay) {
          n++; Array.prototype.map = null; while (stay); return [n, typeof [].map]; }`);
        await call(script, [true], { limits: { timeMs: 50 } }).catch(() => {});

        expect(await answer(script, [false])).toEqual([1, "object"]);
      });

      test("random numbers differ from call to call", async () => {
        const script = aHandler("return Math.random()");
        const numbers = (await Promise.all(
          Array.from({ length: 20 }, () => answer(script)),
        )) as number[];

        expect(new Set(numbers).size).toBe(20);
        expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true);
      });

      test("the clock is the host's", async () => {
        const before = Date.now();
        const now = (await answer(aHandler("return Date.now()"))) as number;

        expect(now).toBeGreaterThanOrEqual(before - 1);
        expect(now).toBeLessThanOrEqual(Date.now() + 1);
      });
    });

    describe("compiling", () => {
      test("thirty first calls at once compile once and all succeed", async () => {
        const before = opened.compilations();
        const script = aScript(`export const Handler = (n) => n * 2; // ${Math.random()}`);
        const answers = await Promise.all(
          Array.from({ length: 30 }, (_, n) => answer(script, [n])),
        );

        expect(answers).toEqual(Array.from({ length: 30 }, (_, n) => n * 2));
        expect(opened.compilations()).toBe(before + 1);
      });

      test("a script that was compiled is not compiled by its first call", async () => {
        const script = aScript(`export const Handler = () => 1; // ${Math.random()}`);
        await sandbox.compile(script);
        const before = opened.compilations();
        await call(script);

        expect(opened.compilations()).toBe(before);
      });

      test("a syntax error has its line and column", async () => {
        const script = aScript(`let a = 1;\nlet a = 2;`, { name: "./src/Twice.ts" });

        expect(await refusal(script)).toMatchObject({ scriptName: "./src/Twice.ts", line: 2 });
      });

      test("a syntax error of a helper names the helper", async () => {
        const script = aScript(`export const Handler = () => 1;`, {
          helpers: [{ name: "money", source: "\n\nexport const a = ;" }],
        });

        expect(await refusal(script)).toMatchObject({ scriptName: "money", line: 3 });
      });

      test.each([
        "fs",
        "node:fs",
        "./other.ts",
        "https://example.com/x.js",
        "sandbox:host",
        "script",
      ])("importing '%s' is refused", async (module) => {
        const script = aScript(`import * as x from ${JSON.stringify(module)};`);

        expect((await refusal(script)).message).toBe(
          `Cannot find module '${module}': scripts can import 'millrace/script' and their helpers only`,
        );
      });

      test("importing what is not exported is refused, with what to do if it is a type", async () => {
        const script = aScript(`import { ScriptContext } from "vnext:script";`);

        expect((await refusal(script)).message).toBe(
          `Could not find export 'ScriptContext' in module 'millrace/script'. If it is a type, import it with 'import type'.`,
        );
      });

      test("what the top level throws is not a syntax error: it fails the calls", async () => {
        const script = aScript(`\nnull.x;\nexport const Handler = () => 1;`);
        await sandbox.compile(script);

        expect(await failure(script)).toMatchObject({
          kind: "threw",
          errorName: "TypeError",
          line: 2,
        });
      });

      test("a top level that does not end fails the calls", async () => {
        const script = aScript(`for (;;); export const Handler = () => 1;`);

        expect(await failure(script, { timeMs: 50 })).toMatchObject({ kind: "timeout" });
      });

      test("a top level that never settles fails the calls", async () => {
        const script = aScript(`await new Promise(() => {}); export const Handler = () => 1;`);

        expect((await failure(script)).message).toMatch(/top level never settles/);
      });

      test("a refused script is refused again, and does not run", async () => {
        const script = aScript(`export const Handler = () => {`);
        await refusal(script);

        await expect(call(script)).rejects.toThrow(ScriptSyntaxError);
      });
    });

    describe("helpers", () => {
      const money = {
        name: "money",
        source: `export const vat = 20; export default class Money { static gross = (n) => n * 1.2; }`,
      };
      const text = {
        name: "text",
        source: `import Money from "money"; export const shown = (n) => Money.gross(n) + " TL"; export const Array = 1;`,
      };

      test("can be imported by name", async () => {
        const script = aScript(
          `import Money, { vat } from "money"; export const Handler = () => [Money.gross(10), vat];`,
          { helpers: [money] },
        );

        expect(await answer(script)).toEqual([12, 20]);
      });

      test("are globals by the names of their exports, and import each other", async () => {
        const script = aScript(`export const Handler = () => [shown(10), vat, Money.gross(1)];`, {
          helpers: [money, text],
        });

        expect(await answer(script)).toEqual(["12 TL", 20, 1.2]);
      });

      test("do not replace what the language has", async () => {
        const script = aScript(`export const Handler = () => Array.isArray([]);`, {
          helpers: [money, text],
        });

        expect(await answer(script)).toBe(true);
      });

      test("are not there for other scripts", async () => {
        expect(await answer(aHandler("return typeof vat"))).toBe("undefined");
      });
    });

    describe("errors of the script", () => {
      test("have the script's own message, name, line and column", async () => {
        const script = aScript(
          `export function Handler() {\n  const order = null;\n  return order.total;\n}`,
          { name: "./src/Total.ts" },
        );

        expect(await failure(script)).toMatchObject({
          kind: "threw",
          message: "cannot read property 'total' of null",
          errorName: "TypeError",
          scriptName: "./src/Total.ts",
          line: 3,
          column: 15,
        });
      });

      test("have the author's line when the contract's objects throw", async () => {
        const script = aScript(
          `import { ScriptBase } from "vnext:script";\nexport default class extends ScriptBase {\n  Handler() {\n    return this.Demand();\n  }\n}`,
        );

        expect(await failure(script)).toMatchObject({ message: "Nothing given", line: 4 });
      });

      test("name the helper they come from", async () => {
        const script = aScript(`export const Handler = () => boom();`, {
          helpers: [
            { name: "bang", source: `\nexport function boom() { throw new RangeError("x"); }` },
          ],
        });

        expect(await failure(script)).toMatchObject({
          scriptName: "bang",
          line: 2,
          errorName: "RangeError",
        });
      });

      test("after an await have their line too", async () => {
        const script = aScript(
          `export async function Handler() {\n  await null;\n  throw new Error("late");\n}`,
        );

        expect(await failure(script)).toMatchObject({ message: "late", line: 3 });
      });

      test("keep the name of the author's class", async () => {
        const script = aHandler(
          `class NoStock extends Error { name = "NoStock" } throw new NoStock("none left");`,
        );

        expect(await failure(script)).toMatchObject({ errorName: "NoStock", message: "none left" });
      });

      test.each([
        ["a text", `throw "plain"`, "plain"],
        ["a number", `throw 42`, "42"],
        ["null", `throw null`, "null was thrown"],
        ["undefined", `throw undefined`, "undefined was thrown"],
        ["an object", `throw { code: 7 }`, `{"code":7}`],
        ["an object with a message", `throw { message: "said" }`, "said"],
        ["a symbol", `throw Symbol("s")`, "Symbol(s)"],
        ["an error without a message", `throw new TypeError()`, "TypeError"],
        ["a rejection", `return Promise.reject("no")`, "no"],
        ["a cycle", `const a = {}; a.a = a; throw a`, "Something was thrown that cannot be shown"],
        [
          "an object that throws when looked at",
          `throw { get message() { throw 1 } }`,
          "Something was thrown that cannot be shown",
        ],
      ])("%s that is thrown has a readable message", async (_, body, message) => {
        expect(await failure(aHandler(body))).toMatchObject({ kind: "threw", message });
      });

      test("a handler that is not there is an error of the prelude", async () => {
        await expect(call(aHandler(""), [], { handler: "Nope" })).rejects.toThrow(
          "No handler 'Nope'",
        );
      });
    });

    describe("limits", () => {
      test("an endless loop ends in time, whatever surrounds it", async () => {
        const script = aHandler(`
          try { try { for (;;); } catch { return "caught" } finally { for (;;); } }
          finally { return "finally" }`);

        expect(await failure(script, { timeMs: 60 })).toMatchObject({ kind: "timeout" });
      });

      test("a promise that never settles is a failure at once", async () => {
        const script = aHandler(`await new Promise(() => {});`);

        const failed = await failure(script, { timeMs: 10_000 });
        expect(failed.kind).toBe("timeout");
        expect(failed.message).toBe(
          "The promise of Handler never settles: nothing is left that could settle it.",
        );
      });

      test("memory: catching the error does not help", async () => {
        const script = aHandler(`
          const all = [];
          try { for (;;) all.push("x".repeat(10_000) + all.length) } catch { all.length = 0 }
          return "survived"`);

        expect(await failure(script, { timeMs: 60_000 })).toMatchObject({ kind: "memory" });
      });

      test("memory: one huge request is as final", async () => {
        const script = aHandler(`try { new Array(1e8).fill(1) } catch {} return "survived"`);

        expect(await failure(script, { timeMs: 60_000 })).toMatchObject({ kind: "memory" });
      });

      test("memory: a small limit is kept, and what is below it is allowed", async () => {
        const script = aHandler(`return "x".repeat(3_000_000).length`);
        const small = { memoryBytes: 2 * 1024 * 1024 };

        expect(await failure(script, small)).toMatchObject({ kind: "memory" });
        expect(await answer(script)).toBe(3_000_000);
      });

      test("the answer's size is counted in bytes", async () => {
        const script = aHandler(`return "ü".repeat(600)`);

        expect(await failure(script, { outputBytes: 1000 })).toMatchObject({
          kind: "output",
          message: "The script's answer is longer than 1000 bytes.",
        });
        expect((await call(script, [], { limits: { outputBytes: 1202 } })).value).toHaveLength(602);
      });

      test("deep recursion: catching the error does not help", async () => {
        const script = aHandler(`
          const f = (n) => f(n + 1) + 1;
          try { f(0) } catch { return "survived" }`);

        expect(await failure(script)).toMatchObject({ kind: "stack" });
      });

      test("recursion of a few hundred frames is allowed", async () => {
        const script = aHandler(`const f = (n) => n === 0 ? 0 : 1 + f(n - 1); return f(1000);`);

        expect(await answer(script)).toBe(1000);
      });
    });

    describe("logs", () => {
      test("come with the answer", async () => {
        const { logs } = await call(logging(`this.Log("Warning", "two");`));

        expect(logs).toEqual([
          { level: "Information", message: "one" },
          { level: "Warning", message: "two" },
        ]);
      });

      test("come with a failure, even when the call was cut off", async () => {
        const lines = [{ level: "Information", message: "one" }];

        expect((await failure(logging(`throw 1;`))).logs).toEqual(lines);
        // On a busy machine one that does not listen in time is ended without a last word.
        await eventually(async () => {
          const cutOff = await failure(logging(`for (;;);`), { timeMs: 500 });
          expect(cutOff.logs).toEqual(lines);
        });
      });

      test("are cut when there are too many", async () => {
        const script = logging(`for (let i = 0; i < 1000; i++) this.Log("Debug", "line " + i);`);
        const { logs } = await call(script);

        expect(logs.length).toBeLessThan(300);
        expect(logs.at(-1)).toEqual({ level: "Warning", message: "Further lines were dropped." });
      });
    });

    describe("callers", () => {
      /** Calls that do not end by themselves. */
      const occupy = (script: SandboxScript, count: number, timeMs: number) => {
        const enough = new AbortController();
        const busy = Array.from({ length: count }, () =>
          call(script, [], { signal: enough.signal, limits: { timeMs } }).then(
            () => "answered",
            () => "stopped",
          ),
        );
        const stop = async () => {
          enough.abort();
          await Promise.all(busy);
        };
        return { busy, stop };
      };

      test("a call whose signal has fired does not start", async () => {
        const script = aHandler("return 1");

        await expect(
          call(script, [], { signal: AbortSignal.abort(new Error("gone")) }),
        ).rejects.toThrow("gone");
      });

      test.each([
        ["a loop", `for (;;);`],
        ["the engine's own code", `/^(a+)+$/.test("a".repeat(60) + "b");`],
      ])("a call is stopped in %s when its signal fires", async (_, body) => {
        const script = aHandler(body);
        await sandbox.compile(script);
        const gone = new AbortController();
        const began = performance.now();
        setTimeout(() => gone.abort(new Error("gone")), 50);

        const limits = { timeMs: 60_000 };
        await expect(call(script, [], { signal: gone.signal, limits })).rejects.toThrow("gone");
        // Long before its time would have been over.
        expect(performance.now() - began).toBeLessThan(50_000);
      });

      test("a call that waits for its turn is taken out when its signal fires", async () => {
        const script = aHandler(`for (;;);`);
        await sandbox.compile(script);
        const { busy, stop } = occupy(script, 4, 60_000);
        const gone = new AbortController();

        const waiting = call(script, [], { signal: gone.signal });
        setImmediate(() => gone.abort(new Error("gone")));

        await expect(waiting).rejects.toThrow("gone");
        expect(await Promise.race([...busy, Promise.resolve("still busy")])).toBe("still busy");
        await stop();
      });

      test("endless scripts do not keep others from running", async () => {
        const endless = aHandler(`for (;;);`);
        await sandbox.compile(endless);
        const { busy, stop } = occupy(endless, 12, 2000);

        // On a busy machine one that takes its time may be taken for slow: then it waits for one of
        // them, but never for all.
        for (let i = 0; i < 3; i += 1) expect(await answer(aHandler(`return "here"`))).toBe("here");

        expect(await Promise.race([Promise.all(busy), Promise.resolve("still busy")])).toBe(
          "still busy",
        );
        await stop();
      });

      test("many calls at once are all answered, each with its own", async () => {
        const script = aHandler("await null; return input * 2");
        const inputs = Array.from({ length: 300 }, (_, n) => n);

        expect(await Promise.all(inputs.map((n) => answer(script, [n])))).toEqual(
          inputs.map((n) => n * 2),
        );
      });

      test("closing fails what runs and what comes after", async () => {
        const other = await open();
        const running = other.sandbox
          .call({ script: aHandler(`for (;;);`), handler: "Handler", args: "[]" })
          .catch((error: unknown) => error);
        await other.sandbox.compile(aHandler(`return 1`));
        await other.sandbox.close();

        expect(await running).toBeInstanceOf(Error);
        await expect(
          other.sandbox.call({ script: aHandler(`return 1`), handler: "Handler", args: "[]" }),
        ).rejects.toThrow("The sandbox is closed.");
      });
    });
  });
}

/** A handler that logs a line before anything else. */
const logging = (rest: string) =>
  aScript(
    `import { ScriptBase } from "vnext:script";
     export default class extends ScriptBase { Handler() { this.Log("Information", "one"); ${rest} } }`,
  );

function deep(levels: number): unknown {
  return levels === 0 ? [] : [deep(levels - 1)];
}
