/** A database that answers reads and refuses writes, as one with a full disk does. */
import { expect, onTestFinished, test } from "vitest";
import type { TaskHost } from "../../src/tasks/task-host.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntime } from "../support/start-runtime.ts";
import { journey } from "./journey.ts";
import { auditOf, rowsOf, unfinished } from "./promises.ts";

/** Counts what it refuses: a sequence is not rolled back with the statement. */
const fillDisk = `
  create sequence refusal;
  create function refuse() returns trigger language plpgsql as $$
    begin
      perform nextval('refusal');
      raise exception 'could not extend file: No space left on device' using errcode = '53100';
    end $$;
  create trigger refuse before insert on task_journal for each row execute function refuse()`;

const refusals = async (url: string) => {
  const [row] = await rowsOf<{ count: string }>(url, "select last_value as count from refusal");
  return Number(row?.count);
};

test.for([
  { what: "result", answer: 200 },
  { what: "failure", answer: 503 },
])(
  "the $what of a task that cannot be written is kept, and the task not done again",
  async ({ answer }) => {
    const { url, drop } = await createDatabase();
    onTestFinished(drop);
    const done: string[] = [];
    const tasks: TaskHost = {
      isEffectful: ({ key }) => key === "effect",
      async run({ executionKey }) {
        done.push(executionKey);
        const response = { statusCode: answer };
        const failure = {
          code: `Task:Http:${answer}`,
          layer: "Task" as const,
          task: "effect",
          message: "It is not well.",
          retryable: false,
        };
        const outcome = { name: "effect", response, data: undefined };
        return answer === 200 ? outcome : { ...outcome, failure };
      },
    };
    const app = await startRuntime({ databaseUrl: url, roles: ["api", "worker"], tasks });
    const journeys = instancesOf(app, "journey");
    await app.publish(...journey);
    const id = await journeys.begin();

    await rowsOf(url, fillDisk);
    const refused = await journeys.send(id, "call", {}, { query: "sync=true" });
    await eventually(async () => expect(await refusals(url)).toBeGreaterThan(2));
    await rowsOf(url, "drop trigger refuse on task_journal");

    expect(refused.status).toBe(503);
    await eventually(async () => {
      const { metadata } = await journeys.read(id);
      expect(metadata.status).toBe(answer === 200 ? "A" : "F");
    });
    expect(done).toHaveLength(1);
    await eventually(async () => expect(await unfinished(url)).toEqual([]));
    expect(await auditOf(url)).toEqual([]);
  },
);
