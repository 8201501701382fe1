import { parseJson, stringifyJson, type JsonValue } from "../../engine/exact-json.ts";
import type { JournalEntry, TaskJournal } from "../task-journal.ts";
import type { Queries } from "./database.ts";
import { listTaskJournal } from "./list-task-journal.ts";

const findEntry = {
  name: "find-journal-entry",
  text: `
    select t.response, t.succeeded, t.attempts as tries, t.retry,
      extract(epoch from now() - t.finished_at) * 1000 as since
    from job j
    left join task_journal t on t.instance_id = $1 and t.execution_key = $2
    where j.id = $3 and j.attempts = $4 and j.owner = $5`,
};

// A success stays: whoever comes later finds it.
const addEntry = {
  name: "add-journal-entry",
  text: `
    insert into task_journal (instance_id, execution_key, task_key, succeeded, response, attempts,
      retry, started_at, finished_at)
    select $1, $2, $6, $7, $8, $9, $10, $11, $12 from job j
    where j.id = $3 and j.attempts = $4 and j.owner = $5
    on conflict (instance_id, execution_key) do update set
      succeeded = task_journal.succeeded or excluded.succeeded,
      response = case when task_journal.succeeded then task_journal.response else excluded.response end,
      attempts = excluded.attempts, retry = excluded.retry, finished_at = excluded.finished_at
    returning 1 as kept`,
};

interface EntryRow {
  response: string | null;
  succeeded: boolean | null;
  tries: number | null;
  retry: number | null;
  since: string | null;
}

export const createTaskJournal = (queries: Queries): TaskJournal => ({
  async find({ instanceId, executionKey, jobId, attempts, owner, retry }) {
    const [row] = await queries.query<EntryRow>(findEntry, [
      instanceId,
      executionKey,
      jobId,
      attempts,
      owner,
    ]);
    if (row === undefined) return { kind: "lost" };
    if (row.response === null) return { kind: "new" };
    const result = parseJson(row.response) as unknown as JournalEntry["result"];
    if (row.succeeded === true && "outcome" in result) return { kind: "done", ...result };
    if (row.retry !== retry) return { kind: "new" };
    return { kind: "failed", tries: row.tries ?? 1, sinceMs: Number(row.since ?? 0), result };
  },
  async add(entry) {
    const { result } = entry;
    const rows = await queries.query(addEntry, [
      entry.instanceId,
      entry.executionKey,
      entry.jobId,
      entry.attempts,
      entry.owner,
      entry.taskKey,
      "outcome" in result && result.outcome.failure === undefined,
      stringifyJson(result as unknown as JsonValue),
      entry.tries,
      entry.retry,
      entry.startedAt,
      entry.finishedAt,
    ]);
    return rows.length > 0;
  },
  list: (instanceId) => listTaskJournal(queries, instanceId),
});
