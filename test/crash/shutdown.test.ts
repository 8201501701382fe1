import { expect, onTestFinished, test } from "vitest";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntime } from "../support/start-runtime.ts";
import { holdTasks } from "./held-tasks.ts";
import { journey } from "./journey.ts";
import { auditOf, rowsOf } from "./promises.ts";

const roles = ["api", "worker"] as const;

async function startOn(databaseUrl: string, graceSeconds: number) {
  const tasks = holdTasks();
  const settings = { "Server.ShutdownSeconds": graceSeconds };
  const app = await startRuntime({ databaseUrl, roles, tasks, settings });
  return { app, tasks, journeys: instancesOf(app, "journey") };
}

test.for([{ how: "queued" }, { how: "waited for" }])(
  "a $how run that outlasts the shutdown keeps its status, and another node finishes it",
  async ({ how }) => {
    const { url, drop } = await createDatabase();
    onTestFinished(drop);
    const first = await startOn(url, 1);
    await first.app.publish(...journey);
    const id = await first.journeys.begin();
    // Not with the client of the runtime, which waits for its answers when it is closed.
    const path = `${first.journeys.path}/${id}/transitions/call?sync=${how === "waited for"}`;
    const sent = fetch(first.app.url + path, { method: "PATCH" }).catch(() => "cut off");
    await eventually(() => expect(first.tasks.begun).toHaveLength(1));

    await first.app.stop();

    const status = await rowsOf(url, "select status::text, has_active_incident from instance");
    expect(status).toEqual([{ status: "B", has_active_incident: false }]);
    const second = await startOn(url, 60);
    second.tasks.release();
    await eventually(async () => {
      expect(await second.journeys.read(id)).toMatchObject({ metadata: { status: "A" } });
    });
    first.tasks.release();
    await sent;
    expect(second.tasks.begun).toEqual(first.tasks.begun);
    expect(await second.journeys.history(id)).toMatchObject([
      { transitionKey: "start", toState: "open" },
      { transitionKey: "call", toState: "open" },
    ]);
    expect(await auditOf(url)).toEqual([]);
  },
);

test("what can end within the grace ends, and nothing new is begun", async () => {
  const { url, drop } = await createDatabase();
  onTestFinished(drop);
  const { app, tasks, journeys } = await startOn(url, 60);
  await app.publish(...journey);
  const id = await journeys.begin();
  await journeys.send(id, "call", {}, { query: "sync=false" });
  await eventually(() => expect(tasks.begun).toHaveLength(1));

  const stopped = app.stop();
  tasks.release();
  await stopped;

  expect(await rowsOf(url, "select status::text from instance")).toEqual([{ status: "A" }]);
  expect(await rowsOf(url, "select name from job")).toEqual([]);
  expect(await rowsOf(url, "select id from node")).toEqual([]);
  expect(await auditOf(url)).toEqual([]);
});
