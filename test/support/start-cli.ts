/**
 * The command line as people run it: a process of its own, in a folder of its own, with nothing of
 * our environment. Whatever is left of it when the test ends is killed, its PostgreSQL too.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, readFile, readlink, realpath, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished } from "vitest";
import { isRunning } from "../../src/storage/embedded/process-identity.ts";
import { eventually } from "./eventually.ts";

export interface CliOptions {
  env?: Record<string, string>;
  /** The working folder; the data folder is `.millrace` in it unless the arguments say otherwise. */
  cwd: string;
  uid?: number;
  gid?: number;
  /** With a shell in between that waits for it, as npm's scripts have. */
  throughShell?: boolean;
  /** Who cleans up: the running test unless given. */
  atEnd?: (cleanUp: () => Promise<void>) => void;
}

export interface Cli {
  pid: number;
  stdout(): string;
  stderr(): string;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
}

export interface RunningCli extends Cli {
  runtimeUrl: string;
  deployUrl: string;
}

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
// As an address: the name alone would be looked up from the working folder.
const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** A folder of mode 0700, as a home is. Removed when the test ends, after the PostgreSQL in it. */
export async function aFolder(
  atEnd: NonNullable<CliOptions["atEnd"]> = onTestFinished,
  owner?: { uid: number; gid: number },
): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-cli-")));
  if (owner !== undefined) await chown(folder, owner.uid, owner.gid);
  atEnd(async () => {
    await endPostgres(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

export function startCli(args: string[], options: CliOptions): Cli {
  const { cwd, env = {}, atEnd = onTestFinished, throughShell = false, ...user } = options;
  const { PATH = "", TMPDIR = tmpdir() } = process.env;
  const line = [process.execPath, "--import", tsx, main, ...args];
  // The second command keeps the shell from becoming the first.
  const [command = "", ...rest] = throughShell ? ["sh", "-c", '"$@"; exit', "sh", ...line] : line;
  const child = spawn(command, rest, {
    ...user,
    cwd,
    env: { PATH, TMPDIR, HOME: cwd, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // "close": when the last words have arrived as well.
  const exited = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  atEnd(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return {
    pid: child.pid!,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    kill: (signal) => void child.kill(signal),
  };
}

/** Runs a command that ends by itself. */
export async function runCli(args: string[], options: CliOptions) {
  const cli = startCli(args, options);
  const { code } = await cli.exited;
  return { code, stdout: cli.stdout(), stderr: cli.stderr() };
}

export const anyPorts = ["--port", "0", "--init-port", "0"];

/** `millrace start` on free ports; resolves when it says that it runs. */
export async function startService(args: string[], options: CliOptions): Promise<RunningCli> {
  // A busy machine is no reason for a script of the sample to fail.
  const env = { Scripting__TimeoutMs: "60000", ...options.env };
  return running(startCli(["start", ...anyPorts, ...args], { ...options, env }));
}

export async function running(cli: Cli): Promise<RunningCli> {
  const ended = cli.exited.then(({ code }) => {
    throw new Error(`ended with ${code} instead of running:\n${cli.stdout()}${cli.stderr()}`);
  });
  await Promise.race([
    ended,
    eventually(() => expect(cli.stdout()).toMatch(/curl .*\n/), { withinMs: 120_000 }),
  ]);
  ended.catch(() => {}); // its end is expected later
  const said = cli.stdout();
  return {
    ...cli,
    runtimeUrl: /Runtime API +(\S+)/.exec(said)?.[1] ?? "",
    deployUrl: /Deployment API +(\S+)/.exec(said)?.[1] ?? "",
  };
}

/** The port that the service said it listens on, also while it is not ready. */
export async function listeningAt(cli: Cli): Promise<string> {
  return eventually(() => {
    const [, port] = /listening at http:\/\/127\.0\.0\.1:(\d+)/.exec(cli.stdout()) ?? [];
    expect(port).toBeDefined();
    return `http://127.0.0.1:${port}`;
  });
}

/** The pid of the PostgreSQL that serves the data folder in `cwd`, if it runs. */
export async function findPostgres(cwd: string): Promise<number | undefined> {
  const cluster = join(cwd, ".millrace", "postgres");
  const file = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const pid = Number.parseInt(file, 10);
  return pid > 1 && (await isServerOf(cluster, pid)) ? pid : undefined;
}

/** The database of the service that runs in `cwd`, for a test that wants to get in its way. */
export async function embeddedUrl(cwd: string): Promise<string> {
  const folder = join(cwd, ".millrace");
  const password = (await readFile(join(folder, "postgres-password"), "utf8")).trim();
  const port = (await readFile(join(folder, "postgres", "postmaster.pid"), "utf8")).split("\n")[3];
  return `postgres://millrace:${password}@127.0.0.1:${port}/millrace`;
}

/** A number alone could be somebody else's by now; a server works in its cluster. */
async function isServerOf(cluster: string, pid: number): Promise<boolean> {
  if (process.platform !== "linux") return isRunning(pid);
  return (await readlink(`/proc/${pid}/cwd`).catch(() => "")) === cluster;
}

async function endPostgres(cwd: string): Promise<void> {
  const pid = await findPostgres(cwd);
  if (pid === undefined) return;
  process.kill(pid, "SIGQUIT");
  await eventually(async () => expect(await isRunning(pid)).toBe(false));
}
