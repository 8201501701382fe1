import { expect, onTestFinished, test } from "vitest";
import { faultPointFrom } from "../../src/runtime/fault-point.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { createDatabase } from "../support/database.ts";
import { aFolder, anyPorts, runCli, startService } from "../support/start-cli.ts";
import { rowsOf } from "./promises.ts";
import { publish } from "./publish.ts";

test("a fault point strikes at its own spot, at the pass that was asked for", () => {
  const passed: string[] = [];
  const faultPoint = faultPointFrom("after-journal:2", () => passed.push("struck"));

  for (const name of ["after-journal", "before-task", "after-journal", "after-journal"] as const) {
    passed.push(name);
    faultPoint(name);
  }

  expect(passed).toEqual([
    "after-journal",
    "before-task",
    "after-journal",
    "struck",
    "after-journal",
  ]);
});

test("MILLRACE_FAULT_POINT kills a node of the command line exactly there", async () => {
  const { url, drop } = await createDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url, MILLRACE_FAULT_POINT: "before-answer" };
  const cli = await startService([], { cwd: await aFolder(), env });
  await publish(cli.runtimeUrl, [aWorkflow("loan").state("draft")]);

  const start = `${cli.runtimeUrl}/api/v1/core/workflows/loan/instances/start?sync=true`;
  await expect(fetch(start, { method: "POST" })).rejects.toThrow();

  expect(await cli.exited).toEqual({ code: null, signal: "SIGKILL" });
  expect(await rowsOf(url, "select status::text from instance")).toEqual([{ status: "A" }]);
});

test("a fault point nobody knows stops the start", async () => {
  const { url, drop } = await createDatabase();
  onTestFinished(drop);

  const { code, stderr } = await runCli(["start", ...anyPorts], {
    cwd: await aFolder(),
    env: { DATABASE_URL: url, MILLRACE_FAULT_POINT: "after-lunch" },
  });

  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("MILLRACE_FAULT_POINT is 'after-lunch'"),
  });
});
