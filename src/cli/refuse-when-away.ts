import { StartRefusal } from "../engine/start-refusal.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";

/** A start waits for its database; commands are for scripts, which had better know at once. */
export function refuseWhenAway(error: unknown): never {
  if (!(error instanceof StorageUnavailable)) throw error;
  throw new StartRefusal(
    `The database of DATABASE_URL does not answer (${error.reason}). Start it, or correct the address.`,
    { cause: error },
  );
}
