/** `node.ts` as a child process. Whatever is left of it when the test ends is killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { AtEnd } from "./at-end.ts";

export interface NodeOptions {
  databaseUrl: string;
  /** Of the task `effect`; without it the node has the product's own tasks. */
  effectUrl?: string;
  /** Settings in their environment form. */
  env?: Record<string, string>;
  atEnd: AtEnd;
}

export interface NodeProcess {
  url: string;
  /** From now on the process kills itself at this spot: `after-journal`, or `after-journal:3`. */
  arm(faultPoint: string): void;
  signal(signal: NodeJS.Signals): void;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Warnings and errors, for a test that fails. */
  log(): string;
}

const program = fileURLToPath(new URL("node.ts", import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** Resolves when the node listens. */
export async function startNode(options: NodeOptions): Promise<NodeProcess> {
  const { databaseUrl, effectUrl = "", env, atEnd } = options;
  const child = spawn(process.execPath, ["--import", tsx, program], {
    env: {
      PATH: process.env["PATH"],
      TMPDIR: process.env["TMPDIR"],
      HOME: process.env["HOME"],
      DATABASE_URL: databaseUrl,
      Database__PoolSize: "6",
      EFFECT_URL: effectUrl,
      MILLRACE_LOG_LEVEL: "warn",
      // A busy machine is no reason for a script to fail.
      Scripting__TimeoutMs: "60000",
      ...env,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {}); // it may be gone before it has read everything
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  const exited = once(child, "exit").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  atEnd(async () => {
    child.kill("SIGKILL");
    await exited;
  });

  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on("line", (line) => {
      if (line.startsWith('{"url"')) resolve((JSON.parse(line) as { url: string }).url);
      else log += `${line}\n`;
    });
    void exited.then(() => reject(new Error(`the node ended instead of listening:\n${log}`)));
  });
  return {
    url,
    arm: (faultPoint) => void child.stdin.write(`${faultPoint}\n`),
    signal: (signal) => void child.kill(signal),
    exited,
    log: () => log,
  };
}
