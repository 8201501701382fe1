/**
 * One node of the product, as a process of its own that a test can kill, stop and continue.
 *
 * With `EFFECT_URL` the only task is `effect`, which reaches outside: it posts to that server of the
 * test with the execution key as its idempotency key. Without it the tasks are the product's own. A
 * line on stdin (`after-journal:3`) names the spot where the process kills itself. Says where it
 * listens, in one line of JSON.
 */
import { createInterface } from "node:readline";
import { loadConfig } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import { startMillrace, type Role } from "../../src/millrace.ts";
import { faultPointFrom, noFaultPoints } from "../../src/runtime/fault-point.ts";
import type { TaskHost } from "../../src/tasks/task-host.ts";

const { EFFECT_URL = "", NODE_ROLES = "api,worker" } = process.env;

let faultPoint = noFaultPoints;
const input = createInterface(process.stdin).on("line", (line) => {
  faultPoint = faultPointFrom(line, () => process.kill(process.pid, "SIGKILL"));
});

const tasks: TaskHost = {
  isEffectful: ({ key }) => key === "effect",
  async run({ context, executionKey, signal }) {
    const answer = await fetch(EFFECT_URL, {
      method: "POST",
      headers: { "idempotency-key": executionKey },
      body: JSON.stringify({ instance: context.instance?.id, transition: context.transitionKey }),
      signal,
    });
    await answer.text();
    return { name: "effect", response: { status: answer.status }, data: { [executionKey]: true } };
  },
};

const { config } = loadConfig({
  env: process.env,
  flags: {
    "Server.Host": "127.0.0.1",
    "Server.Port": 0,
    "Server.InitPort": 0,
    "Runtime.Samples": "off",
  },
});
const millrace = await startMillrace({
  config,
  log: createLog({ level: config["Log.Level"] }),
  roles: NODE_ROLES.split(",") as Role[],
  ...(EFFECT_URL === "" ? {} : { tasks }),
  faultPoint: (name) => faultPoint(name),
});
process.once("SIGTERM", () => {
  input.close();
  void millrace.stop();
});
process.stdout.write(`${JSON.stringify({ url: millrace.runtimeUrl })}\n`);
