/**
 * The least a sandbox can be given to call a handler: the arguments as they are, the answer as JSON.
 * Tests of the sandbox use it in place of the contract's objects, which have tests of their own.
 */
export const tinyPrelude: Readonly<Record<string, string>> = {
  invoke: `
    import "./script.js";
    const stringify = (value) => JSON.stringify(value) ?? "null";
    export function invoke(module, name, args) {
      const owner = module.default ? new module.default() : module;
      if (typeof owner[name] !== "function") throw new Error("No handler '" + name + "'");
      const answer = owner[name](...JSON.parse(args));
      return typeof answer?.then === "function" ? answer.then(stringify) : stringify(answer);
    }`,
  script: `
    import { log } from "sandbox:host";
    import { demand } from "./inner/demand.js";
    export class ScriptBase {
      Log(level, message) { log(level, message); }
      Demand(value) { return demand(value); }
    }`,
  "inner/demand": `
    export function demand(value) {
      if (value === undefined) throw new Error("Nothing given");
      return value;
    }`,
};
