/** The contract's objects as module texts, by path without its ending. */
import { readdirSync, readFileSync } from "node:fs";
import { stripTypes } from "../language/strip-types.ts";

const isSource = import.meta.url.endsWith(".ts");
const ending = isSource ? ".ts" : ".js";
const folder = new URL("../prelude/", import.meta.url);

/** In plain Node the prelude logs nowhere; in the sandbox, to the host. */
const hostLog = `export { log as hostLog } from "sandbox:host";`;

export function readPrelude(): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(ending) && !/\.(?:test|d)\.ts$/.test(path));
  const texts = ["../contract" + ending, ...files].map((path) => {
    const text = readFileSync(new URL(path, folder), "utf8");
    return [path.slice(0, -ending.length), isSource ? stripTypes(text, path) : text];
  });
  return { ...Object.fromEntries(texts), "host-log": hostLog };
}
