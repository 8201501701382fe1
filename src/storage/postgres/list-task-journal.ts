import { triggerTypeCodes } from "../../engine/enumeration-codes.ts";
import { parseJson } from "../../engine/exact-json.ts";
import type { JournalEntry, ListedTask } from "../task-journal.ts";
import type { Queries } from "./database.ts";

// An execution key begins with the id of the record the task belongs to.
const ofInstance = {
  name: "list-task-journal",
  text: `
    select t.execution_key, t.task_key, t.succeeded, t.attempts, t.started_at, t.finished_at,
      case when t.succeeded then null else t.response end as response,
      r.transition_key, r.from_state, r.to_state, r.trigger_type
    from task_journal t
    left join transition_record r on r.instance_id = t.instance_id
      and r.id::text = split_part(t.execution_key, ':', 1)
    where t.instance_id = $1 order by t.started_at, t.execution_key limit $2`,
};

/** More than anybody looks through. */
const most = 1000;

interface TaskRow {
  execution_key: string;
  task_key: string;
  succeeded: boolean;
  attempts: number;
  started_at: Date;
  finished_at: Date;
  response: string | null;
  transition_key: string | null;
  from_state: string | null;
  to_state: string | null;
  trigger_type: number | null;
}

export async function listTaskJournal(queries: Queries, instanceId: string): Promise<ListedTask[]> {
  const rows = await queries.query<TaskRow>(ofInstance, [instanceId, most]);
  return rows.map((row) => ({
    executionKey: row.execution_key,
    taskKey: row.task_key,
    succeeded: row.succeeded,
    tries: row.attempts,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    failure: failureIn(row.response),
    record:
      row.transition_key === null
        ? undefined
        : {
            transitionKey: row.transition_key,
            fromState: row.from_state ?? "",
            toState: row.to_state ?? undefined,
            trigger: triggerTypeCodes.wordOf(row.trigger_type ?? 0),
          },
  }));
}

function failureIn(response: string | null): ListedTask["failure"] {
  if (response === null) return undefined;
  const result = parseJson(response) as unknown as JournalEntry["result"];
  return "failure" in result ? result.failure : result.outcome.failure;
}
