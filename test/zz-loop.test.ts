import { expect, test } from "vitest";
import { aFailingServerForFile } from "/work/main/test/support/a-failing-server.ts";
import { taskWith } from "/work/main/test/support/a-script-slot.ts";
import { aWorkflow } from "/work/main/test/support/a-workflow.ts";
import { instancesOf, movesOf } from "/work/main/test/support/instances-of.ts";
import { startRuntimeForFile } from "/work/main/test/support/start-runtime.ts";
const app = await startRuntimeForFile({ settings: { "Egress.Allow": ["loopback"] }, roles: ["api", "worker"] });
const server = await aFailingServerForFile();
test("loop", async () => {
  const soon = { initialDelay: "PT0.001S", backoffType: "fixed", useJitter: false, maxRetries: 5 };
  for (let i = 0; i < 60; i++) {
    const key = `k${i}`;
    await app.publish(server.task(key, 503, 503, 404), aWorkflow(`f${i}`).state("open").transition("go", { to: "done", onExecutionTasks: [{ ...taskWith(key, { type: "G" }), errorBoundary: { onError: [{ action: "retry", retryPolicy: soon, errorCodes: ["503"] }, { action: "rollback", transition: "compensate", errorCodes: ["404"] }] } }] }).state("done").state("compensated").shared("compensate", { to: "compensated" }));
    const flow = instancesOf(app, `f${i}`);
    const id = await flow.begin({});
    const answer = await flow.send(id, "go");
    const { metadata } = await flow.read(id);
    if (metadata.currentState !== "compensated") {
      console.log(i, answer.status, answer.text, JSON.stringify(metadata), server.calls(key), (await app.get(`${flow.path}/${id}/incidents`)).text, movesOf(await flow.history(id)));
    }
  }
}, 60000);
