/**
 * Where the program of a script thread is. Built, it is a file beside this one. From source it is
 * TypeScript, which a thread of Node 20 cannot read whatever runs the main program: the files are
 * stripped here and handed over as `data:` modules, each with the ones it imports inside.
 */
import { readFileSync } from "node:fs";
import { stripTypes } from "../language/strip-types.ts";

const isSource = import.meta.url.endsWith(".ts");

export const threadProgram = (): URL =>
  isSource ? dataModule(here("./script-thread.ts")) : here("./script-thread.js");

const here = (path: string): URL => new URL(path, import.meta.url);

function dataModule(file: URL): URL {
  const text = stripTypes(readFileSync(file, "utf8"), file.pathname).replaceAll(
    /^((?:import|export|\}).* from )"(\.[^"]+)"/gm,
    (_, from: string, path: string) => `${from}"${dataModule(new URL(path, file)).href}"`,
  );
  return new URL(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
}
