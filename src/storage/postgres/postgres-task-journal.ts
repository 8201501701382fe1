import { parseJson, stringifyJson, type JsonValue } from "../../engine/exact-json.ts";
import type { TaskOutcome } from "../../engine/transition/advance.ts";
import type { TaskJournal } from "../task-journal.ts";
import type { Queries } from "./database.ts";

const findEntry = {
  name: "find-journal-entry",
  text: "select response from task_journal where instance_id = $1 and execution_key = $2",
};

const addEntry = {
  name: "add-journal-entry",
  text: `
    insert into task_journal (instance_id, execution_key, task_key, succeeded, response, started_at, finished_at)
    select $1, $2, $3, true, $4, $5, $6 from job where job.id = $7 and job.owner = $8
    on conflict (instance_id, execution_key) do update set response = task_journal.response
    returning 1 as kept`,
};

export const createTaskJournal = (queries: Queries): TaskJournal => ({
  async find({ instanceId, executionKey }) {
    const [row] = await queries.query<{ response: string }>(findEntry, [instanceId, executionKey]);
    return row === undefined ? undefined : (parseJson(row.response) as unknown as TaskOutcome);
  },
  async add({ instanceId, executionKey, taskKey, outcome, startedAt, finishedAt, jobId, owner }) {
    const rows = await queries.query(addEntry, [
      instanceId,
      executionKey,
      taskKey,
      stringifyJson(outcome as unknown as JsonValue),
      startedAt,
      finishedAt,
      jobId,
      owner,
    ]);
    return rows.length > 0;
  },
});
