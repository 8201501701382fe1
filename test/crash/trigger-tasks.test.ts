/**
 * kill -9 after a task that reaches other instances has done its work and before anybody has written
 * that down: another node does it again, and nothing is started or moved twice.
 */
import { expect, onTestFinished, test } from "vitest";
import { slot } from "../support/a-script-slot.ts";
import { aWorkflow, defaultDomain } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf, movesOf } from "../support/instances-of.ts";
import { aTask, taskRef } from "../support/run-task.ts";
import { aFolder, startService } from "../support/start-cli.ts";
import { startRuntime } from "../support/start-runtime.ts";
import { createDatabase } from "../support/database.ts";

const order = { domain: defaultDomain, flow: "order", sync: true };

const ofParent = slot(`
  export function InputHandler(task, context) { task.SetBody({ by: context.Instance.Key }); return {}; }
  export function OutputHandler(context) { return {}; }`);
const shipping = slot(`
  export function InputHandler(task, context) { task.SetKey("moved-" + context.Instance.Key); return {}; }
  export function OutputHandler(context) { return {}; }`);
const perItem = slot(`
  export function ItemInputHandler(task, context, item) {
    task.SetBody({ by: context.Instance.Key }); return {};
  }`);

const components = [
  aWorkflow("order").state("open").transition("ship", { to: "shipped" }).state("shipped"),
  aTask("start-order", "11", order),
  aTask("ship-order", "12", { ...order, transitionName: "ship" }),
  aTask("add-child", "14", order),
  aTask("start-many", "21", { itemsPath: "$.list", task: taskRef("start-order") }),
  aWorkflow("parent")
    .state("open")
    .transition("go", {
      to: "done",
      onExecutionTasks: [
        { order: 1, task: taskRef("start-order"), mapping: ofParent },
        { order: 2, task: taskRef("ship-order"), mapping: shipping },
        { order: 3, task: taskRef("add-child"), mapping: ofParent },
        { order: 4, task: taskRef("start-many"), mapping: perItem },
      ],
    })
    .state("done"),
];

test(
  "tasks that start and move instances do so once, wherever the node dies",
  { timeout: 120_000 },
  async () => {
    const { url: databaseUrl, drop } = await createDatabase();
    onTestFinished(drop);
    const survivor = await startRuntime({ databaseUrl, roles: ["api", "worker"] });
    await survivor.publish(...components);
    const parents = instancesOf(survivor, "parent");
    const orders = instancesOf(survivor, "order");

    const killAfterTask = async (pass: number) => {
      const key = `parent-${pass}`;
      const id = await parents.begin({ key, attributes: { list: [1, 2] } });
      const moved = await orders.begin({ key: `moved-${key}` });
      const env = { DATABASE_URL: databaseUrl, MILLRACE_FAULT_POINT: `after-task:${pass}` };
      const victim = await startService(["--role", "api"], { cwd: await aFolder(), env });

      const go = `${victim.runtimeUrl}${parents.path}/${id}/transitions/go?sync=true`;
      await expect(fetch(go, { method: "PATCH" })).rejects.toThrow();
      expect(await victim.exited).toMatchObject({ signal: "SIGKILL" });

      await eventually(
        async () =>
          expect((await parents.read(id)).metadata).toMatchObject({ currentState: "done" }),
        { withinMs: 30_000 },
      );
      const filter = encodeURIComponent(JSON.stringify({ attributes: { by: { eq: key } } }));
      const { body } = await orders.list(`filter=${filter}`);
      // One by the start, one child, one per item.
      expect([pass, (body as { items: object[] }).items.length]).toEqual([pass, 4]);
      expect(movesOf(await orders.history(moved))).toEqual([
        "start: open-open",
        "ship: open-shipped",
      ]);
    };

    for (const pass of [1, 2, 3, 4]) await killAfterTask(pass);
  },
);
