/** Scripts that want to get out, to stay, or to take everything with them. */

/** Name, body of the handler, and how it may end. On a busy machine any may run out of time first. */
export type Hostile = readonly [name: string, body: string, ends: readonly string[]];

export const endless: readonly Hostile[] = [
  ["a loop", `for (;;);`, ["timeout"]],
  [
    "a loop inside catch and finally",
    `for (;;) { try { for (;;); } catch {} finally { for (;;); } }`,
    ["timeout"],
  ],
  ["a loop that returns from finally", `try { for (;;); } finally { return 1; }`, ["timeout"]],
  [
    "a loop in a generator",
    `function* g() { for (;;) yield 1; } for (const x of g()); `,
    ["timeout"],
  ],
  [
    "a generator that refuses to return",
    `function* g() { for (;;) { try { yield 1; } finally { continue; } } } for (const x of g()) break;`,
    ["null"],
  ],
  ["a promise flood", `for (;;) await null;`, ["timeout"]],
  [
    "a promise that begets two",
    `const f = () => { Promise.resolve().then(f); Promise.resolve().then(f); }; f(); await new Promise(() => {});`,
    ["timeout", "memory"],
  ],
  [
    "a thenable that never ends",
    `return { then(ok) { ok({ then: this.then }); } };`,
    ["timeout", "memory"],
  ],
  ["a promise nobody settles", `await new Promise(() => {});`, ["timeout"]],
  [
    "an async loop that outlives the answer",
    `(async () => { for (;;) await null; })(); return "early";`,
    ["early"],
  ],
  ["regex backtracking", `/^(a+)+$/.test("a".repeat(40) + "b");`, ["timeout"]],
  [
    "regex backtracking in replace",
    `("x".repeat(5000) + "y").replace(/(x+x+)+z/g, "");`,
    ["timeout"],
  ],
  [
    "regex with nested lookahead",
    `/(?=(a+))*b\\1/.test("a".repeat(50000));`,
    ["timeout", "memory", "null", "threw"],
  ],
  [
    "a sort that never finishes comparing",
    `Array.from({ length: 1e5 }, Math.random).sort(() => { for (;;); });`,
    ["timeout"],
  ],
  [
    "a huge sort",
    `Array.from({ length: 1e6 }, Math.random).sort((a, b) => a - b);`,
    ["timeout", "memory"],
  ],
  [
    "a huge sort without a comparer",
    `const a = []; for (let i = 0; i < 3e5; i++) a.push((i * 7919) % 3e5 + ""); for (;;) a.reverse().sort();`,
    ["timeout", "memory"],
  ],
  ["a getter that never answers", `return { get x() { for (;;); } };`, ["timeout"]],
  ["a toJSON that never answers", `return { toJSON() { for (;;); } };`, ["timeout"]],
  ["a proxy that never answers", `return new Proxy({}, { ownKeys() { for (;;); } });`, ["timeout"]],
  [
    "a proxy with endless keys",
    `let n = 0; return new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, () => "k" + n++), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) });`,
    ["timeout", "memory", "output"],
  ],
  ["an error whose message never comes", `throw { get message() { for (;;); } };`, ["timeout"]],
  [
    "a toString that never answers",
    `throw { toString() { for (;;); }, toJSON() { return undefined; } };`,
    ["timeout", "threw"],
  ],
  [
    "a Symbol.iterator without end",
    `[...{ *[Symbol.iterator]() { for (;;) yield "x".repeat(1000); } }];`,
    ["timeout", "memory"],
  ],
  ["a bigint power", `let n = 3n; for (;;) n = n ** 3n;`, ["timeout", "memory", "threw"]],
  [
    "a bigint printed",
    `return (7n ** 400000n).toString().length;`,
    ["timeout", "memory", "threw", "338040"],
  ],
  [
    "an array of holes joined",
    `return (new Array(2e8) + "").length;`,
    ["timeout", "memory", "threw"],
  ],
  [
    "an array of holes searched",
    `return new Array(2 ** 32 - 1).indexOf(1);`,
    ["timeout", "memory", "threw"],
  ],
  [
    "a sparse array shifted",
    `const a = []; a[4e9] = 1; a.splice(0, 1); a.reverse();`,
    ["timeout", "memory", "threw"],
  ],
  [
    "a set that grows while it is walked",
    `const s = new Set([1]); for (const x of s) s.add(x + 1);`,
    ["timeout", "memory"],
  ],
  [
    "texts compared at length",
    `const a = "a".repeat(5e6), b = "a".repeat(5e6) + "b"; for (;;) a < b;`,
    ["timeout", "memory"],
  ],
  [
    "text searched at length",
    `const a = "a".repeat(3e6); for (;;) a.indexOf("a".repeat(1e6) + "b");`,
    ["timeout", "memory"],
  ],
  [
    "normalizing at length",
    `const a = "\\u1e9b\\u0323".repeat(5e5); for (;;) a.normalize("NFKD");`,
    ["timeout", "memory"],
  ],
];

export const greedy: readonly Hostile[] = [
  ["texts in an array", `const a = []; for (;;) a.push("x".repeat(1e5) + a.length);`, ["memory"]],
  [
    "texts in an array, caught",
    `const a = []; for (;;) { try { for (;;) a.push("x".repeat(1e5) + a.length); } catch { a.length = 0; } }`,
    ["memory"],
  ],
  ["a text doubled", `let s = "x"; for (;;) s += s;`, ["memory", "threw", "timeout"]],
  ["a text repeated", `return "x".repeat(2 ** 30).length;`, ["memory", "threw"]],
  ["a text padded", `return "x".padStart(1e9).length;`, ["memory", "threw"]],
  ["a filled array", `return new Array(1e9).fill(0).length;`, ["memory", "threw", "timeout"]],
  [
    "a mapped array",
    `return Array.from({ length: 1e9 }, (_, i) => i).length;`,
    ["memory", "timeout"],
  ],
  [
    "an array that contains itself, flattened",
    `const a = []; a.push(a, a); return a.flat(Infinity).length;`,
    ["memory", "stack", "timeout", "threw"],
  ],
  ["arrays joined", `let a = [1]; for (;;) a = a.concat(a);`, ["memory"]],
  [
    "objects with many keys",
    `const o = {}; for (let i = 0; ; i++) o["k" + i] = i;`,
    ["memory", "timeout"],
  ],
  ["a map", `const m = new Map(); for (let i = 0; ; i++) m.set(i, {});`, ["memory", "timeout"]],
  ["closures", `let f = () => 0; for (;;) { const g = f; f = () => g; }`, ["memory", "timeout"]],
  [
    "symbols",
    `const a = []; for (;;) a.push(Symbol("s".repeat(1000) + a.length));`,
    ["memory", "timeout"],
  ],
  ["promises", `const a = []; for (;;) a.push(new Promise(() => {}));`, ["memory", "timeout"]],
  [
    "a JSON answer that explodes",
    `let a = ["x"]; for (let i = 0; i < 30; i++) a = [a, a]; return a;`,
    ["memory", "timeout", "output"],
  ],
  [
    "a regex with many groups",
    `new RegExp("(a)".repeat(60000)); for (;;) new RegExp("(a{1,1000}){1,1000}");`,
    ["memory", "timeout", "threw"],
  ],
  [
    "split into characters",
    `const s = "x".repeat(4e6); const all = []; for (;;) all.push(s.split(""));`,
    ["memory", "timeout"],
  ],
  [
    "error traces",
    `const a = []; for (;;) a.push(new Error("x".repeat(5000) + a.length));`,
    ["memory", "timeout"],
  ],
  ["a long answer", `return "x".repeat(2e6);`, ["output"]],
  ["a long error", `throw new Error("x".repeat(5e6));`, ["threw"]],
  ["a long thrown text", `throw "y".repeat(5e6);`, ["threw"]],
  ["a bigint shifted", `return (1n << 1000000000n) > 0n;`, ["memory", "threw"]],
];

export const deep: readonly Hostile[] = [
  ["recursion", `const f = () => f() + 1; f();`, ["stack"]],
  [
    "recursion, caught",
    `const f = () => { try { return f() + 1; } catch { return 0; } }; return f();`,
    ["stack"],
  ],
  [
    "recursion through a getter",
    `const o = { get x() { return this.x; } }; return o.x;`,
    ["stack"],
  ],
  [
    "recursion through a proxy",
    `const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x;`,
    ["stack"],
  ],
  [
    "recursion through toJSON",
    `const o = { toJSON() { return JSON.stringify(o); } }; return o;`,
    ["stack"],
  ],
  ["recursion through map", `const f = () => [1].map(f); return f();`, ["stack"]],
  [
    "recursion with many arguments",
    `const f = (...a) => f(...a, ...a); f(1);`,
    ["stack", "memory", "threw"],
  ],
  [
    "apply with a huge array",
    `return Math.max.apply(null, new Array(1e6));`,
    ["stack", "memory", "threw"],
  ],
  [
    "a deep answer",
    `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a;`,
    ["stack", "memory", "timeout"],
  ],
  ["deep JSON", `return JSON.parse("[".repeat(1e5) + "]".repeat(1e5));`, ["stack", "threw"]],
  [
    "a deep regex",
    `return new RegExp("(".repeat(50000) + ")".repeat(50000)).test("");`,
    ["stack", "threw"],
  ],
  [
    "a chain of prototypes",
    `let o = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); return o.missing === undefined;`,
    ["true", "timeout", "memory", "stack"],
  ],
  [
    "a chain of proxies",
    `let o = {}; for (let i = 0; i < 1e5; i++) o = new Proxy(o, {}); return o.missing === undefined;`,
    ["stack", "memory", "timeout"],
  ],
  [
    "a bound function of a bound function",
    `let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(); return f();`,
    ["stack", "memory", "timeout"],
  ],
  [
    "a rope of text",
    `let s = ""; for (let i = 0; i < 3e5; i++) s = "a" + s; return s.length;`,
    ["300000", "timeout", "memory"],
  ],
];

/** Bodies that answer "safe" when there is no way out. */
export const escapes: readonly (readonly [string, string])[] = [
  ...[
    "process",
    "require",
    "module",
    "exports",
    "Buffer",
    "global",
    "window",
    "self",
    "fetch",
    "XMLHttpRequest",
    "WebSocket",
    "Worker",
    "setTimeout",
    "setInterval",
    "setImmediate",
    "queueMicrotask",
    "console",
    "performance",
    "structuredClone",
    "eval",
    "Function",
    "WebAssembly",
    "ArrayBuffer",
    "SharedArrayBuffer",
    "Uint8Array",
    "Float64Array",
    "DataView",
    "Atomics",
    "WeakRef",
    "FinalizationRegistry",
    "std",
    "os",
    "print",
    "scriptArgs",
    "__dirname",
    "gc",
    "$host",
    "Deno",
    "Bun",
  ].map(
    (name) =>
      [
        `the global ${name}`,
        `return typeof ${name} === "undefined" && !("${name}" in globalThis) ? "safe" : typeof ${name};`,
      ] as const,
  ),
  [
    "the constructor of a function",
    `try { return (() => {}).constructor("return globalThis")() ? "out" : "in"; } catch { return "safe"; }`,
  ],
  [
    "the constructor of an async function",
    `try { return (async () => {}).constructor("return 1")() ? "out" : "in"; } catch { return "safe"; }`,
  ],
  [
    "the constructor of a generator",
    `try { return (function* () {}).constructor("yield 1")() ? "out" : "in"; } catch { return "safe"; }`,
  ],
  [
    "the constructor of an async generator",
    `try { return (async function* () {}).constructor("yield 1")() ? "out" : "in"; } catch { return "safe"; }`,
  ],
  [
    "the constructor of a class",
    `try { return (class {}).constructor("return 1")() ? "out" : "in"; } catch { return "safe"; }`,
  ],
  [
    "the constructor of a bound function",
    `try { return (() => 1).bind().constructor("return 1")() ? "out" : "in"; } catch { return "safe"; }`,
  ],
  [
    "the constructor of a method of the contract",
    `const { ScriptBase } = await Promise.resolve(globalThis); try { return Object.getPrototypeOf(Object.getPrototypeOf(async () => {})).constructor("return 1")() ? "out" : "in"; } catch { return "safe"; }`,
  ],
  [
    "constructors along every prototype",
    `
    const seen = new Set(), queue = [globalThis, async () => {}, function* () {}, async function* () {}, class {}];
    while (queue.length) {
      const o = queue.pop();
      if (o === null || (typeof o !== "object" && typeof o !== "function") || seen.has(o)) continue;
      seen.add(o);
      queue.push(Object.getPrototypeOf(o));
      for (const k of Reflect.ownKeys(o)) {
        const d = Reflect.getOwnPropertyDescriptor(o, k);
        queue.push(d.value, d.get, d.set);
      }
    }
    for (const f of seen) {
      if (typeof f !== "function" || /^(Array|Object|String|RegExp|Promise|Proxy|Symbol|Date|Map|Set)$/.test(f.name)) continue;
      let r; try { r = f("return 41 + 1"); } catch { try { r = Reflect.construct(f, ["return 41 + 1"]); } catch { continue; } }
      if (typeof r === "function") { try { if (r() === 42) return "out by " + f.name; } catch {} }
    }
    return "safe";`,
  ],
  ["eval, indirectly", `try { return (0, eval)("1"); } catch { return "safe"; }`],
  [
    "Reflect.construct on a function's maker",
    `try { return Reflect.construct((() => {}).constructor, ["return 1"])(); } catch { return "safe"; }`,
  ],
  [
    "a species constructor",
    `class A extends Array { static get [Symbol.species]() { return (() => {}).constructor; } } try { new A(1).map((x) => x); return "safe"; } catch { return "safe"; }`,
  ],
  [
    "import()",
    `try { await import("fs"); return "out"; } catch (e) { return /import\\(\\) is not available/.test(e.message) ? "safe" : e.message; }`,
  ],
  [
    "import() of the host's module",
    `try { await import("sandbox:host"); return "out"; } catch { return "safe"; }`,
  ],
  [
    "import() of the contract, late",
    `try { await import("millrace/script"); return "out"; } catch { return "safe"; }`,
  ],
  [
    "import.meta",
    `return Reflect.ownKeys(import.meta).every((k) => k === "url" || k === "main") && !/work|node|file/.test(import.meta.url ?? "") ? "safe" : JSON.stringify(import.meta);`,
  ],
  [
    "the trace of an error",
    `const s = new Error("x").stack; return /node|worker|wasm|\\/work|file:/.test(s) ? s : "safe";`,
  ],
  [
    "Error.prepareStackTrace",
    `let got = null; Error.prepareStackTrace = (e, frames) => { got = frames; return ""; }; new Error("x").stack; return got === null || got.every((f) => typeof f.getThis !== "function" || f.getThis() === undefined) ? "safe" : "out";`,
  ],
  [
    "Error.captureStackTrace",
    `const o = {}; try { Error.captureStackTrace?.(o); } catch {} return /node|worker|wasm/.test(o.stack ?? "") ? o.stack : "safe";`,
  ],
  [
    "arguments.callee.caller",
    `return (function () { try { return arguments.callee.caller ? "out" : "safe"; } catch { return "safe"; } })();`,
  ],
  [
    "the caller of a function",
    `function f() { try { return f.caller ? "out" : "safe"; } catch { return "safe"; } } return f();`,
  ],
  [
    "this of a plain call",
    `return (function () { return this === undefined || Object.keys(this).length === 0 ? "safe" : "out"; })();`,
  ],
  [
    "a polluted Object.prototype",
    `Object.prototype.then = undefined; Object.prototype.value = "polluted"; Object.prototype.get = undefined; return "safe";`,
  ],
  [
    "a polluted Array.prototype",
    `Object.defineProperty(Array.prototype, 0, { set() { throw 1; }, get() { return "polluted"; }, configurable: true }); return "safe";`,
  ],
  [
    "a replaced JSON",
    `const real = JSON.stringify; JSON.parse = null; JSON.stringify = (x) => real(x); return "safe";`,
  ],
  ["a replaced Reflect", `globalThis.Reflect = null; Reflect?.apply; return "safe";`],
  [
    "a frozen world",
    `Object.freeze(globalThis); Object.freeze(Object.prototype); Object.freeze(Promise.prototype); return "safe";`,
  ],
  ["__proto__ of the input", `input?.__proto__; ({}).__proto__.polluted = 1; return "safe";`],
  [
    "a getter on globalThis",
    `Object.defineProperty(globalThis, "undefined2", { get() { throw 1; } }); return "safe";`,
  ],
  [
    "a replaced Promise",
    `const { then } = Promise.prototype; Promise.prototype.then = function (...a) { return Reflect.apply(then, this, a); }; globalThis.Promise = null; return "safe";`,
  ],
  [
    "Symbol.hasInstance",
    `Object.defineProperty(Function2 = function () {}, Symbol.hasInstance, { value: () => { throw 1; } }); return "safe";`.replace(
      "Function2 =",
      "globalThis.F2 =",
    ),
  ],
  [
    "a tagged template's strings",
    `const f = (s) => s; const a = f\`x\`; try { a.push(1); return "out"; } catch { return "safe"; }`,
  ],
];

/** Texts that must not even compile, or compile and be harmless. */
export const sources: readonly (readonly [string, string])[] = [
  ["importing a file system", `import fs from "fs"; export const Handler = () => "out";`],
  [
    "importing by URL",
    `import x from "data:text/javascript,export default 1"; export const Handler = () => "out";`,
  ],
  [
    "importing the host's module",
    `import { log } from "sandbox:host"; export const Handler = () => "out";`,
  ],
  [
    "importing the prelude's inside",
    `import { invoke } from "scripting/prelude/invoke"; export const Handler = () => "out";`,
  ],
  ["importing by a path", `import "../../prelude/invoke.js"; export const Handler = () => "out";`],
  ["importing itself by its inner name", `import "script"; export const Handler = () => "out";`],
  ["importing the stop module", `import "stop"; export const Handler = () => "out";`],
  ["re-exporting a file system", `export * from "node:fs"; export const Handler = () => "out";`],
  ["a top level without end", `for (;;); export const Handler = () => "out";`],
  [
    "a top level that eats memory",
    `const a = []; for (;;) a.push("x".repeat(1e5) + a.length); export const Handler = () => "out";`,
  ],
  [
    "a top level that recurses",
    `const f = () => f() + 1; f(); export const Handler = () => "out";`,
  ],
  [
    "a top level that throws what cannot be shown",
    `throw { get message() { throw 1; } }; export const Handler = () => "out";`,
  ],
  [
    "a deeply nested text",
    `export const Handler = () => ${"[".repeat(20000)}${"]".repeat(20000)};`,
  ],
  ["a long chain of operators", `export const Handler = () => ${"!".repeat(100000)}1;`],
  ["an unfinished text", `export const Handler = () => { ${"if (1) {".repeat(5000)}`],
  [
    "a class with hostile statics",
    `export default class { static x = (() => { for (;;); })(); Handler() { return "out"; } }`,
  ],
];
