/** A Redis server of the machine's own, for one file of tests. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { findFreePort } from "../../src/storage/embedded/free-port.ts";
import { eventually } from "./eventually.ts";

export interface RedisServer {
  readonly port: number;
  readonly url: string;
  start(): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Goes silent without closing its connections, and comes back. */
  pause(): void;
  resume(): void;
}

/** Whether the contract with Redis can be held here; says so in one line when it cannot. */
export function hasRedis(): boolean {
  try {
    execFileSync("redis-server", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    process.stdout.write("The Redis contract was not run: redis-server is not installed.\n");
    return false;
  }
}

/** Not started yet. */
export async function aRedisServer(): Promise<RedisServer> {
  const port = await findFreePort();
  let child: ChildProcess | undefined;
  return {
    port,
    url: `redis://127.0.0.1:${port}/0`,
    async start() {
      const given = ["--port", String(port), "--bind", "127.0.0.1", "--save", ""];
      child = spawn("redis-server", [...given, "--appendonly", "no"], { stdio: "ignore" });
      await eventually(() => accepts(port));
    },
    async kill() {
      if (child === undefined) return;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      child = undefined;
    },
    pause: () => child?.kill("SIGSTOP"),
    resume: () => child?.kill("SIGCONT"),
  };
}

const accepts = (port: number) =>
  new Promise<void>((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" }, () => {
      socket.destroy();
      resolve();
    });
    socket.on("error", reject);
  });
