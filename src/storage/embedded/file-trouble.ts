import { StartRefusal } from "../../engine/start-refusal.ts";
import { describeMe } from "./server-user.ts";

/** The file errors that a person can put right; anything else is passed on as it came. */
const remedies: Record<string, string> = {
  EACCES: "may not be written by",
  EPERM: "may not be written by",
  EROFS: "is on a read-only file system and may not be written by",
  ENOTDIR: "is not a folder that can be used by",
  EEXIST: "is not a folder that can be used by",
  ENOSPC: "is on a full disk and cannot be written by",
  EDQUOT: "is over its disk quota and cannot be written by",
};

/** Runs `work` on the data folder; trouble with rights or space becomes a sentence with a remedy. */
export async function inDataFolder<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { code = "", path, syscall } = cause as NodeJS.ErrnoException;
    const trouble = remedies[code];
    // A program that cannot be started also comes with such a code; this is about files.
    if (trouble === undefined || path === undefined || syscall?.startsWith("spawn")) throw cause;
    const inside = path.startsWith(dataDir) && path !== dataDir ? ` (at ${path})` : "";
    throw new StartRefusal(
      `The data folder ${dataDir} ${trouble} ${describeMe()}: ${code}${inside}; correct that, choose another folder with MILLRACE_DATA_DIR, or set DATABASE_URL to use a PostgreSQL server of your own.`,
      { cause },
    );
  }
}
