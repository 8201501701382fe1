/** Task types that do nothing by themselves: human, condition and timer. */
import { expect, test } from "vitest";
import { runTask } from "../support/run-task.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();

test("a human task answers that it is pending, and waits for nobody", async () => {
  const { response, instance } = await runTask(app, {
    key: "ask-somebody",
    type: "5",
    config: { title: "Sign", assignedTo: "ann" },
  });

  expect(response).toMatchObject({
    statusCode: 202,
    isSuccess: true,
    data: { status: "Pending" },
    taskType: "Human",
  });
  expect(instance.metadata).toMatchObject({ status: "A", currentState: "done" });
});

test.each([
  ["condition", "8"],
  ["timer", "9"],
])("a %s task cannot run", async (word, type) => {
  const { response, instance } = await runTask(app, { key: `a-${word}`, type, config: {} });

  expect(response).toBeUndefined();
  expect(instance.metadata).toMatchObject({ status: "F", currentState: "open" });
});
