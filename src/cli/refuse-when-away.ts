import { StartRefusal } from "../engine/start-refusal.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";

/** A start waits for its database; commands are for scripts, which had better know at once. */
export function refuseWhenAway(error: unknown): never {
  if (!(error instanceof StorageUnavailable)) throw error;
  const { message = "", code = "" } = (error.cause ?? {}) as Partial<NodeJS.ErrnoException>;
  throw new StartRefusal(
    `The database of DATABASE_URL does not answer (${message === "" ? code : message}). Start it, or correct the address.`,
    { cause: error },
  );
}
