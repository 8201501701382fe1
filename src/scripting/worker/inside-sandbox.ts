/**
 * The first code that runs inside an engine: it takes away what scripts shall not have and answers
 * with the functions by which the host starts a call and reads its outcome.
 *
 * Scripts can change every built-in object afterwards. Nothing here relies on one that a script could
 * have changed: what is needed later is taken before, into constants.
 */
export const insideSandbox = String.raw`(function (hostLog) {
"use strict";
const { apply, getPrototypeOf, ownKeys, defineProperty } = Reflect;
const { stringify } = JSON;
const { slice, charCodeAt } = String.prototype;
const { then } = Promise.prototype;
const PromiseClass = Promise;
const resolve = Promise.resolve;
const toText = String;
const toNumber = Number;
const builtIn = new Set(ownKeys(globalThis));
const isBuiltIn = builtIn.has;
const { floor } = Math;

// The engine is made without typed arrays, weak references, timers and a console. Code from text is
// what remains: by name, and by the constructors of the four kinds of function.
delete globalThis.eval;
delete globalThis.Function;
for (const f of [function () {}, async function () {}, function* () {}, async function* () {}]) {
  defineProperty(getPrototypeOf(f), "constructor", { value: undefined, writable: true, configurable: true });
}

// Calls start from copies of one memory, so the engine's own generator would answer each the same.
let a = 0, b = 0, c = 0, d = 1;
function seed(words) {
  a = toNumber("0x" + apply(slice, words, [0, 8])) | 0;
  b = toNumber("0x" + apply(slice, words, [8, 16])) | 0;
  c = toNumber("0x" + apply(slice, words, [16, 24])) | 0;
  d = toNumber("0x" + apply(slice, words, [24, 32])) | 0;
}
function word() {
  const t = (((a + b) | 0) + d) | 0;
  d = (d + 1) | 0;
  a = b ^ (b >>> 9);
  b = (c + (c << 3)) | 0;
  c = ((c << 21) | (c >>> 11)) + t | 0;
  return t >>> 0;
}
defineProperty(Math, "random", {
  value: function random() { return (word() * 2097152 + floor(word() / 2048)) / 9007199254740992; },
  writable: true, configurable: true,
});

const clip = (value, length) => {
  const text = typeof value === "string" ? value : toText(value);
  return text.length > length ? apply(slice, text, [0, length]) : text;
};

function describe(thrown) {
  let name = "", message = "", stack = "";
  try {
    if (thrown === null || thrown === undefined) message = toText(thrown) + " was thrown";
    else if (typeof thrown !== "object" && typeof thrown !== "function") message = clip(thrown, 4000);
    else {
      const own = thrown.message;
      if (typeof own === "string") {
        message = clip(own, 4000);
        const kind = thrown.name;
        if (typeof kind === "string") name = clip(kind, 200);
        const trace = thrown.stack;
        if (typeof trace === "string") stack = clip(trace, 8000);
        if (message === "") message = name;
      } else message = clip(stringify(thrown) ?? thrown, 4000);
    }
  } catch {
    if (message === "") message = "Something was thrown that cannot be shown";
  }
  return stringify({ __proto__: null, name, message, stack });
}

let invoke;
let longest = 0;
let outcome = "";
const settle = (value) => {
  if (outcome !== "") return;
  outcome = typeof value !== "string" ? "n" : value.length > longest ? "o" : "v" + value;
};
const fail = (thrown) => {
  if (outcome === "") outcome = "e" + describe(thrown);
};

return {
  use(entry) { invoke = entry; },
  describe,
  log(level, message) { hostLog(clip(level, 20), clip(message, 8000)); },
  expose(module) {
    const put = (name, value) => {
      if (apply(isBuiltIn, builtIn, [name])) return;
      defineProperty(globalThis, name, { value, writable: true, configurable: true });
    };
    for (const name of ownKeys(module)) {
      if (typeof name !== "string") continue;
      const value = module[name];
      if (name !== "default") put(name, value);
      else if (typeof value === "function" && typeof value.name === "string" && value.name !== "default") {
        put(value.name, value);
      }
    }
  },
  start(module, handler, args, maxLength, words) {
    longest = toNumber(maxLength);
    seed(words);
    try {
      const value = invoke(module, handler, args);
      if (typeof value === "string") settle(value);
      else apply(then, apply(resolve, PromiseClass, [value]), [settle, fail]);
    } catch (thrown) {
      fail(thrown);
    }
  },
  outcome() { return outcome; },
};
})`;
