/** Running processes as somebody else. */
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/**
 * Whether we may run children as other users: as root, and from a clone that they can read (not one
 * in root's own home).
 */
export const canRunAsOthers =
  process.platform === "linux" &&
  process.getuid?.() === 0 &&
  [fileURLToPath(import.meta.url), process.execPath].every(
    (path) => spawnSync("test", ["-r", path], { uid: 65534, gid: 65534, cwd: "/" }).status === 0,
  );

/** Any user with a name will do, except those the server runs as for root. */
export async function findOrdinaryUser(): Promise<{ uid: number; gid: number }> {
  const users = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const [, , uid, gid] = users.find(([name, , id]) => name !== "nobody" && Number(id) > 0) ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}
