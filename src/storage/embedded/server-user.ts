/**
 * Who the server runs as. PostgreSQL refuses to run as root, so a root process hands it to an
 * ordinary user; everybody else runs it as themselves.
 */
import { chown, lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { userInfo } from "node:os";
import { StartRefusal } from "../../engine/start-refusal.ts";

/** Spread into the options of `spawn`; undefined means "as ourselves". */
export interface ServerUser {
  uid: number;
  gid: number;
}

/**
 * The number by which nearly every system knows `nobody`; where the name has another number, that one,
 * because initdb insists on a user with a name.
 */
async function findNobody(): Promise<ServerUser> {
  const usual = { uid: 65534, gid: 65534 };
  const passwd = await readFile("/etc/passwd", "utf8").catch(() => "");
  const users = passwd.split("\n").map((line) => line.split(":"));
  if (users.some(([, , uid]) => Number(uid) === usual.uid)) return usual;
  const [, , uid, gid] = users.find(([name]) => name === "nobody") ?? [];
  return uid === undefined ? usual : { uid: Number(uid), gid: Number(gid) };
}

/**
 * As root, an existing cluster keeps its owner: somebody who once started with sudo can go back to
 * starting without it. A cluster that root owns (a restored backup, say) is given to nobody. Only
 * files inside the cluster ever change hands; no folder above it does.
 */
export async function chooseServerUser(clusterDir: string): Promise<ServerUser | undefined> {
  const me = process.getuid?.();
  if (me === undefined) return undefined;

  const owner = await lstat(clusterDir).catch(() => undefined);
  if (me !== 0) {
    if (owner !== undefined && owner.uid !== me) {
      throw new StartRefusal(
        `The database in ${clusterDir} belongs to the user id ${owner.uid}, and this process runs as ${describeMe()}; start it as the user that created it, give the folder away with chown -R, or choose another folder with MILLRACE_DATA_DIR.`,
      );
    }
    return undefined;
  }

  const nobody = await findNobody();
  if (owner === undefined) return nobody;
  if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid === 0 ? nobody.gid : owner.gid };
  await giveAll(clusterDir, nobody);
  return nobody;
}

/** Gives a file or folder that we created to the user the server will run as. */
export async function give(path: string, user: ServerUser | undefined): Promise<void> {
  if (user === undefined) return;
  try {
    await chown(path, user.uid, user.gid);
  } catch (cause) {
    throw new StartRefusal(
      `PostgreSQL does not run as root, and ${path} cannot be given to another user (${(cause as Error).message}); start Millrace as an ordinary user, choose a folder on a local disk with MILLRACE_DATA_DIR, or set DATABASE_URL to use a PostgreSQL server of your own.`,
      { cause },
    );
  }
}

async function giveAll(dir: string, user: ServerUser): Promise<void> {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await giveAll(path, user);
    else if (entry.isFile()) await give(path, user);
  }
  // The top goes last: a crash half-way leaves it with root, and the next start begins again.
  await give(dir, user);
}

/** The user of this process, for a message. */
export function describeMe(): string {
  try {
    return `'${userInfo().username}'`;
  } catch {
    return `user id ${process.getuid?.()}`; // a user id without an entry in /etc/passwd
  }
}
