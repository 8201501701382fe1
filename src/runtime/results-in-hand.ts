/**
 * The journal, with the results that the database would not take kept in hand. A full disk, say,
 * answers reads and refuses writes: without this, a run that waits for it would do its task again
 * with every attempt, and the outside world would see each of them.
 *
 * They are for this process alone. When it dies, the task is done again, with the same idempotency key.
 */
import { LRUCache } from "lru-cache";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { Journaled, JournalEntry, JournalKey, TaskJournal } from "../storage/task-journal.ts";

const most = 256;

export function withResultsInHand(journal: TaskJournal): TaskJournal {
  const inHand = new LRUCache<string, JournalEntry>({ max: most });

  const add: TaskJournal["add"] = async (entry) => {
    try {
      return await journal.add(entry);
    } catch (error) {
      if (error instanceof StorageUnavailable) inHand.set(nameOf(entry, entry.tries), entry);
      throw error;
    }
  };

  return {
    ...journal,
    add,
    async find(key) {
      const found = await journal.find(key);
      if (found.kind === "done" || found.kind === "lost") return found;
      const tries = found.kind === "failed" ? found.tries : 0;
      const entry = inHand.get(nameOf(key, tries + 1));
      if (entry === undefined) return found;
      // By the claim of now, which may be another one than when the task was done.
      if (!(await add({ ...entry, ...key }))) return { kind: "lost" };
      inHand.delete(nameOf(key, entry.tries));
      return asFound(entry);
    },
  };
}

const nameOf = ({ executionKey, retry }: JournalKey, tries: number) =>
  `${executionKey} ${retry} ${tries}`;

function asFound({ result, tries, finishedAt }: JournalEntry): Journaled {
  if ("outcome" in result && result.outcome.failure === undefined) {
    return { kind: "done", outcome: result.outcome };
  }
  const sinceMs = Math.max(0, Date.now() - finishedAt.getTime());
  return { kind: "failed", tries, sinceMs, result };
}
