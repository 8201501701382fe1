/** Runs `embedded-postgres-child.ts` and reads what it says. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export interface Child {
  pid: number;
  /** The next line it says. */
  line(): Promise<Record<string, unknown>>;
  /** Lets it stop what it started, and waits for its end. */
  finish(): Promise<void>;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** To its whole process group, as a terminal does with Ctrl-C. */
  killGroup(signal: NodeJS.Signals): void;
}

export interface ChildOptions {
  uid?: number;
  gid?: number;
  /** A command that runs it, such as `setpriv …`. */
  through?: string[];
}

const script = fileURLToPath(new URL("embedded-postgres-child.ts", import.meta.url));

export function startChild(args: string[], { through = [], ...user }: ChildOptions = {}): Child {
  const [command = "", ...rest] = [
    ...through,
    process.execPath,
    "--import",
    "tsx",
    script,
    ...args,
  ];
  const child = spawn(command, rest, {
    ...user,
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const exited = once(child, "exit");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const finish = async () => {
    child.stdin.end();
    await exited;
  };
  onTestFinished(finish);

  return {
    pid: child.pid!,
    line: async () => JSON.parse((await lines.next()).value as string) as Record<string, unknown>,
    finish,
    kill: async (signal) => {
      child.kill(signal);
      await exited;
    },
    killGroup: (signal) => void process.kill(-child.pid!, signal),
  };
}
