/** The database password: made once, kept in a file that only the user of this process may read. */
import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

export async function findPassword(dataDir: string): Promise<string | undefined> {
  try {
    return (await readFile(passwordPath(dataDir), "utf8")).trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** On disk before the cluster that needs it, so that no crash leaves a cluster nobody can open. */
export async function createPassword(dataDir: string): Promise<string> {
  const password = randomBytes(32).toString("base64url");
  const aside = `${passwordPath(dataDir)}.new`;
  const file = await open(aside, "w", 0o600);
  try {
    await file.writeFile(`${password}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(aside, passwordPath(dataDir));
  return password;
}

export const passwordPath = (dataDir: string) => join(dataDir, "postgres-password");
