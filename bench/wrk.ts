/**
 * The same load by wrk, where it is installed: a client in C, as pgbench is one, so that the ratio is
 * not about what our own load generator costs on two shared cores.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { LoadResult } from "./load.ts";

const run = promisify(execFile);

export interface WrkOptions {
  url: string;
  connections: number;
  seconds: number;
  method: string;
  paths: readonly string[];
  bodies: readonly string[];
}

export async function hasWrk(): Promise<boolean> {
  // It has no option that only tells its version and ends well.
  return run("sh", ["-c", "command -v wrk"]).then(
    () => true,
    () => false,
  );
}

const lines = (texts: readonly string[]) => texts.map((text) => `[==[${text}]==]`).join(",\n");

const script = ({ method, paths, bodies }: WrkOptions) => `
local paths = {\n${lines(paths)}\n}
local bodies = {\n${lines(bodies)}\n}
local headers = { ["content-type"] = "application/json" }
request = function()
  return wrk.format("${method}", paths[math.random(#paths)], headers, bodies[math.random(#bodies)])
end
done = function(summary, latency)
  io.write(string.format("result %d %d %d %d %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), summary.errors.status))
end
`;

export async function wrk(options: WrkOptions): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-wrk-"));
  try {
    const file = join(folder, "load.lua");
    await writeFile(file, script(options));
    const { connections, seconds, url } = options;
    const { stdout } = await run("wrk", [
      "-t1",
      `-c${connections}`,
      `-d${seconds}s`,
      "-s",
      file,
      url,
    ]);
    const [requests, micros, p50, p99, errors] = /result (.+)/
      .exec(stdout)![1]!
      .split(" ")
      .map(Number) as [number, number, number, number, number];
    return {
      perSecond: requests / (micros / 1e6),
      p50Ms: p50 / 1000,
      p99Ms: p99 / 1000,
      errors,
      statuses: {},
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
