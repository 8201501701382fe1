/**
 * A child process that does not outlive us, however we end.
 *
 * A tiny shell watches a pipe whose other end only we hold. When we die, even by SIGKILL, the kernel
 * closes our end, the watcher reads end-of-file and sends the child SIGINT (for PostgreSQL: roll back,
 * write a checkpoint, end). A child that goes of itself is reported by a word on the pipe, and the
 * watcher leaves without signalling anybody. Costs one sleeping shell of less than a megabyte.
 *
 * The child leads a session of its own, so that Ctrl-C in the terminal reaches us alone and we can
 * finish our work with the database still there.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerUser } from "./server-user.ts";

export interface TiedProcess {
  pid: number;
  /** Everything still known of stderr: its last part, for messages. */
  log(): string;
  isGone(): boolean;
  /** Resolves when the process has ended; never rejects. */
  gone: Promise<{ code: number | null }>;
  kill(signal: NodeJS.Signals): void;
}

export interface TiedProcessOptions {
  cwd: string;
  user: ServerUser | undefined;
}

/**
 * `exec` makes the shell's process the child itself: its pid, exit code and signals are ours to see.
 * The watcher is started from a subshell that ends at once, so that it is no child of the server,
 * which would wonder about a child that it never started. It asks every second whether the child is
 * still there, so that it neither stays on for nothing nor signals a stranger.
 */
const watchAndExec = `
( (
  trap '' HUP INT TERM
  read -r word <&3 && exit
  kill -INT $$
  seconds=0
  while kill -0 $$; do
    [ $seconds -eq 10 ] && kill -QUIT $$
    [ $seconds -eq 15 ] && kill -KILL $$ && exit
    sleep 1
    seconds=$((seconds + 1))
  done
) >/dev/null 2>&1 & )
exec "$@" 3<&- </dev/null
`;

const logCharacters = 16_000;

export async function startTiedProcess(
  command: string,
  args: string[],
  { cwd, user }: TiedProcessOptions,
): Promise<TiedProcess> {
  const options = { cwd, env: serverEnvironment(), windowsHide: true, ...user };
  const child =
    process.platform === "win32"
      ? spawn(command, args, { ...options, stdio: ["ignore", "ignore", "pipe"] })
      : spawn("/bin/sh", ["-c", watchAndExec, "sh", command, ...args], {
          ...options,
          detached: true,
          stdio: ["ignore", "ignore", "pipe", "pipe"],
        });
  await spawned(child);

  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-logCharacters);
  });
  const watcher = child.stdio[3] as Writable | null | undefined;
  watcher?.on("error", () => {}); // the watcher may be gone before us

  let isGone = false;
  const gone = ended(child).then((code) => {
    isGone = true;
    watcher?.end("gone\n");
    return { code };
  });

  return {
    pid: child.pid!,
    log: () => log,
    isGone: () => isGone,
    gone,
    kill: (signal) => void child.kill(signal),
  };
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
}

/**
 * Waits for the last words on stderr, which may arrive after the exit itself; only a moment, because
 * children of a killed server may hold it open.
 */
async function ended(child: ChildProcess): Promise<number | null> {
  const spoken = once(child.stderr!, "close");
  const [code] = (await once(child, "exit")) as [number | null];
  const waiting = new AbortController();
  await Promise.race([spoken, sleep(250, undefined, { signal: waiting.signal }).catch(() => {})]);
  waiting.abort();
  return code;
}

/**
 * Ends a process step by step, each signal after the patience of the one before: SIGINT is a clean
 * end (PostgreSQL's "fast shutdown"), SIGQUIT an immediate one that recovers at the next start,
 * SIGKILL the last resort.
 */
export async function endStepwise(
  kill: (signal: NodeJS.Signals) => void,
  goneWithin: (milliseconds: number) => Promise<boolean>,
): Promise<void> {
  kill("SIGINT");
  if (await goneWithin(10_000)) return;
  kill("SIGQUIT");
  if (await goneWithin(5_000)) return;
  kill("SIGKILL");
  await goneWithin(5_000);
}

/**
 * Not our own environment: it may hold secrets, and other processes of the server's user could read
 * it. The time zone spares initdb a search through all of them (0.1 s).
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH = "/usr/local/bin:/usr/bin:/bin", SystemRoot, TEMP } = process.env;
  const windows = process.platform === "win32" ? { SystemRoot, TEMP } : {};
  return { PATH, TZ: "UTC", LC_ALL: "C", ...windows };
}
