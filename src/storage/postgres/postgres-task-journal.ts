import { parseJson, stringifyJson, type JsonValue } from "../../engine/exact-json.ts";
import type { TaskOutcome } from "../../engine/transition/advance.ts";
import type { TaskJournal } from "../task-journal.ts";
import type { Queries } from "./database.ts";

const findEntry = {
  name: "find-journal-entry",
  text: `
    select t.response from job j
    left join task_journal t on t.instance_id = $1 and t.execution_key = $2
    where j.id = $3 and j.attempts = $4 and j.owner = $5`,
};

const addEntry = {
  name: "add-journal-entry",
  text: `
    insert into task_journal (instance_id, execution_key, task_key, succeeded, response, started_at, finished_at)
    select $1, $2, $6, true, $7, $8, $9 from job j
    where j.id = $3 and j.attempts = $4 and j.owner = $5
    on conflict (instance_id, execution_key) do update set response = task_journal.response
    returning 1 as kept`,
};

export const createTaskJournal = (queries: Queries): TaskJournal => ({
  async find({ instanceId, executionKey, jobId, attempts, owner }) {
    const [row] = await queries.query<{ response: string | null }>(findEntry, [
      instanceId,
      executionKey,
      jobId,
      attempts,
      owner,
    ]);
    if (row === undefined) return { kind: "lost" };
    if (row.response === null) return { kind: "new" };
    return { kind: "done", outcome: parseJson(row.response) as unknown as TaskOutcome };
  },
  async add(entry) {
    const rows = await queries.query(addEntry, [
      entry.instanceId,
      entry.executionKey,
      entry.jobId,
      entry.attempts,
      entry.owner,
      entry.taskKey,
      stringifyJson(entry.outcome as unknown as JsonValue),
      entry.startedAt,
      entry.finishedAt,
    ]);
    return rows.length > 0;
  },
});
