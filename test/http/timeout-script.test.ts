import { Client } from "pg";
import { afterAll, expect, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());

/** Starts an instance whose timeout is an hour, or what the script says; answers when it fires. */
async function timeoutWith(key: string, code: string): Promise<Date> {
  const timeout = {
    key: "expire",
    target: "expired",
    versionStrategy: "Patch",
    timer: { reset: "N", duration: "PT1H" },
    mapping: { encoding: "NAT", location: "./timeout.ts", code },
  };
  await app.publish(
    aWorkflow(key)
      .state("open")
      .transition("go", { to: "open" })
      .state("expired", { type: "finish" })
      .with({ timeout }),
  );
  const { body } = await app.post(`/api/v1/core/workflows/${key}/instances/start?sync=true`, {
    attributes: { until: "2030-01-01T00:00:00Z" },
  });
  const { rows } = await database.query<{ ready_at: Date }>(
    "select ready_at from job where kind = 'to' and instance_id = $1",
    [(body as { id: string }).id],
  );
  return rows[0]!.ready_at;
}

test("the timeout of a workflow may be computed by its script", async () => {
  const due = await timeoutWith(
    "by-script",
    `import { TimerSchedule } from "millrace/script";
     export const Handler = ({ Instance }) => TimerSchedule.FromDateTime(Instance.Data.until);`,
  );

  expect(due).toEqual(new Date("2030-01-01T00:00:00Z"));
});

test("a script that fails leaves the duration of the definition", async () => {
  const due = await timeoutWith(
    "by-duration",
    `export const Handler = () => { throw new Error("no"); };`,
  );

  expect(due.getTime()).toBeGreaterThan(Date.now() + 50 * 60_000);
  expect(due.getTime()).toBeLessThan(Date.now() + 70 * 60_000);
});
