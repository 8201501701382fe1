/**
 * One owner of a data folder.
 *
 * The folder holds files `lock.1`, `lock.2`, …; whoever made the highest one owns the folder, for as
 * long as that process lives or until it empties the file. To take over from a dead owner
 * of `lock.7` is to create `lock.8`, which the file system lets exactly one process do. Nobody ever
 * removes the highest file, so the numbers only grow and no starter can mistake a fresh lock for the
 * stale one it looked at a moment ago — the race that an unlink-and-recreate lock loses.
 *
 * A file appears with its content (it is written aside and linked), so none is ever read half-written.
 */
import { randomUUID } from "node:crypto";
import { chmod, link, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StartRefusal } from "../../engine/start-refusal.ts";
import { findProcessStart } from "./process-identity.ts";

export interface DataFolderLock {
  release(): Promise<void>;
}

interface Owner {
  pid: number;
  started: string;
}

/** Refuses when another living process, or this one, owns the folder. The folder must exist. */
export async function lockDataFolder(dataDir: string): Promise<DataFolderLock> {
  const me: Owner = {
    pid: process.pid,
    started: (await findProcessStart(process.pid)) ?? "unknown",
  };

  for (;;) {
    const highest = await findHighest(dataDir);
    const owner = highest === 0 ? undefined : await readOwner(lockPath(dataDir, highest));
    if (owner !== undefined && (await isAlive(owner))) throw inUse(dataDir, owner);

    const mine = highest + 1;
    if (!(await create(dataDir, mine, me))) continue; // somebody was quicker: look again
    // A starter that slept since `findHighest` may have re-created a number that later owners left
    // behind and swept away; their higher file tells it so.
    if ((await findHighest(dataDir)) > mine) {
      await rm(lockPath(dataDir, mine), { force: true });
      continue;
    }
    await sweep(dataDir, mine);
    return { release: () => release(dataDir, mine) };
  }
}

const lockPath = (dataDir: string, generation: number) => join(dataDir, `lock.${generation}`);

async function findHighest(dataDir: string): Promise<number> {
  const generations = (await readdir(dataDir)).map((name) =>
    Number(/^lock\.(\d+)$/.exec(name)?.[1] ?? 0),
  );
  return Math.max(0, ...generations);
}

/** Undefined when nobody owns the folder by this file: released, or swept away meanwhile. */
async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Owner;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function isAlive(owner: Owner): Promise<boolean> {
  const started = await findProcessStart(owner.pid);
  return started !== undefined && (started === owner.started || started === "hidden");
}

async function create(dataDir: string, generation: number, owner: Owner): Promise<boolean> {
  const aside = join(dataDir, `lock.new-${randomUUID()}`);
  await writeFile(aside, JSON.stringify(owner));
  await chmod(aside, 0o644); // whatever our umask says: the next owner may be another user
  try {
    await link(aside, lockPath(dataDir, generation));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Emptying is one step and needs no space on the disk. */
async function release(dataDir: string, generation: number): Promise<void> {
  try {
    await truncate(lockPath(dataDir, generation));
  } catch (error) {
    // A folder that was removed under us has no lock to release.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Removes what earlier owners left: lower numbers, and asides of starters that died in between. */
async function sweep(dataDir: string, mine: number): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const generation = /^lock\.(\d+)$/.exec(name)?.[1];
    const path = join(dataDir, name);
    const abandoned = name.startsWith("lock.new-") && (await isOld(path));
    if (abandoned || (generation !== undefined && Number(generation) < mine)) {
      await rm(path, { force: true });
    }
  }
}

/** An hour: a starter needs its aside for a millisecond, and must not lose it to us. */
async function isOld(path: string): Promise<boolean> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
  return Date.now() - mtimeMs > 3_600_000;
}

function inUse(dataDir: string, owner: Owner): StartRefusal {
  return new StartRefusal(
    `The data folder ${dataDir} is in use by the Millrace process ${owner.pid}; stop it or choose another folder with MILLRACE_DATA_DIR.`,
  );
}
