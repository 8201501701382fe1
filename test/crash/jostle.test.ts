/**
 * Everybody at once: transitions, updates of the data, retries, cancels, polls and timers on a few
 * instances with subflows, on two nodes, while every fourth call outside fails. When the calls work
 * again a retry brings each of them to rest, and the database keeps its promises.
 */
import { expect, test } from "vitest";
import { aScriptTask, output, taskWith } from "../support/a-script-slot.ts";
import { aWebServerForFile } from "../support/a-web-server.ts";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { idOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";
import { between, inside } from "../support/subflows.ts";
import { auditOf, rowsOf } from "./promises.ts";

const options = { settings: { "Egress.Allow": ["loopback"] }, roles: ["api", "worker"] as const };
const here = await startRuntimeForFile(options);
const there = await startRuntimeForFile({ ...options, databaseUrl: here.databaseUrl });

let isWell = false;
const server = await aWebServerForFile((_asked, _request, response) => {
  const status = isWell || Math.random() < 0.75 ? 200 : 503;
  const answer = () => response.writeHead(status, { "content-type": "application/json" }).end("{}");
  setTimeout(answer, Math.random() * 50);
});

const call = taskWith("call", { type: "G" });
const again = {
  errorCodes: ["503"],
  action: "retry",
  retryPolicy: { initialDelay: "PT0.02S", maxRetries: 1, useJitter: false },
};
const guarded = {
  ...call,
  errorBoundary: { onError: [again, { action: "rollback", transition: "back" }] },
};
const count = (order = 1) =>
  taskWith(
    "script",
    output(`if (context.Body?.fails === true) throw new Error("as asked");
      return { Data: { n: (context.Instance.Data.n ?? 0) + 1 } };`),
    order,
  );
const reset = taskWith("script", output("return { Data: { n: 0 } };"), 2);
const opening = between("return { Data: { n: 0 } };");
const polls = {
  longPoll: {
    terminate: true,
    fallbackTimeoutSeconds: 1,
    roles: [{ role: "poller", grant: "allow" }],
  },
};

await here.publish(
  aScriptTask("script"),
  aComponent("sys-tasks", "call", { type: "6", config: { url: server.url } }),
  aWorkflow("errand")
    .state("open")
    .transition("on", { to: "done", otherwise: true, onExecutionTasks: [call] })
    .state("done", { type: "finish" }),
  aWorkflow("leaf")
    .state("open")
    .transition("step", { to: "waiting", onExecutionTasks: [guarded] })
    .transition("end", { to: "done", onExecutionTasks: [call] })
    .state("waiting", { subType: "busy" })
    .transition("full", {
      to: "done",
      rule: "context.Instance.Data.n.AsInt32() > 1",
      onExecutionTasks: [call],
    })
    .transition("tick", { to: "open", timer: "PT0.5S" })
    .state("done", { type: "finish" })
    .state("gone", { type: "finish" })
    .shared("back", { to: "open" })
    .cancel("drop", { to: "gone", onExecutionTasks: [call] })
    .updateData("amend", { onExecutionTasks: [count()] }),
  aWorkflow("branch")
    .state("open")
    .transition("on", { to: "inside", otherwise: true, onExecutionTasks: [call] })
    .state("inside", inside("leaf", { mapping: opening }))
    .transition("up", { to: "done", otherwise: true, onExecutionTasks: [guarded] })
    .state("done", { type: "finish" })
    .state("late", { type: "finish" })
    .shared("back", { to: "open" })
    .updateData("amend", { onExecutionTasks: [call] })
    .timeout("too-late", { to: "late", after: "PT4S" }),
  aWorkflow("tree")
    .state("open")
    .transition("go", { to: "waiting", onExecutionTasks: [guarded] })
    .transition("enter", { to: "inside" })
    .transition("fork", { to: "forking" })
    .state("waiting", { subType: "busy", interaction: polls })
    .transition("full", {
      to: "open",
      rule: "context.Instance.Data.n.AsInt32() > 2",
      onExecutionTasks: [call, reset],
    })
    .transition("tick", { to: "open", timer: "PT1S", onExecutionTasks: [call] })
    .state("forking", { ...inside("errand", { type: "P" }), onEntries: [call] })
    .transition("on", { to: "open", otherwise: true, onExecutionTasks: [call] })
    .state("inside", inside("branch", { mapping: opening }))
    .transition("up", { to: "open", otherwise: true, onExecutionTasks: [call] })
    .state("gone", { type: "finish", onEntries: [call] })
    .shared("back", { to: "open" })
    .cancel("drop", { to: "gone", onExecutionTasks: [call] })
    .exit("leave", { to: "gone" })
    .updateData("amend", { onExecutionTasks: [call, count(2)] })
    .timeout("too-late", { to: "gone", after: "PT10S" }),
);

const oneOf = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;
const often = ["go", "enter", "fork", "step", "end", "amend", "amend", "amend"];
const operations = [...often, ...often, "retry", "retry", "retry", "retry", "ack", "drop", "leave"];

async function once(ids: string[], turn: number): Promise<void> {
  const app = oneOf([here, there]);
  const trees = instancesOf(app, "tree");
  const id = oneOf(ids);
  const operation = oneOf(operations);
  const query = oneOf(["sync=true", "sync=false"]);
  const headers = oneOf([{ role: "poller" }, { role: "other" }]);
  const body = { [`field-${turn}`]: turn, fails: Math.random() < 0.05 };
  const answer = await (operation === "retry"
    ? app.post(`${trees.path}/${id}/retry?${query}`)
    : operation === "ack"
      ? app.post(`${trees.path}/${id}/longpoll/ack`, undefined, headers)
      : trees.send(id, operation, body, { query, headers }));
  expect(answer.status).toBeLessThan(500);
  if (answer.text.includes("has ended")) {
    ids[ids.indexOf(id)] = idOf(await trees.start({ n: 0 }));
  }
}

const faulted = () =>
  rowsOf<{ id: string; flow: string }>(
    here.databaseUrl,
    "select id, flow from instance where status = 'F'",
  );

test("two thousand requests on a dozen instances leave nobody stuck and nothing half done", async () => {
  const trees = instancesOf(here, "tree");
  const ids = await Promise.all(Array.from({ length: 12 }, () => trees.begin({ n: 0 })));
  let turn = 0;
  const client = async () => {
    while (turn++ < 2000) await once(ids, turn);
  };

  await Promise.all(Array.from({ length: 12 }, client));
  isWell = true;

  await eventually(async () => {
    const path = ({ flow, id }: { flow: string; id: string }) =>
      `/api/v1/core/workflows/${flow}/instances/${id}/retry?sync=true`;
    const fixed = { attributes: { fails: false } };
    await Promise.all((await faulted()).map((it) => here.post(path(it), fixed)));
    expect(await faulted()).toEqual([]);
    expect(await auditOf(here.databaseUrl)).toEqual([]);
  });
}, 300_000);
