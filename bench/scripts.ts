/** What scripts cost: a call by itself, a transition with two script tasks, the first call of a script. */
import type { createSandbox } from "../src/scripting/worker/create-sandbox.ts";
import { median, rounds, seconds, table } from "./figures.ts";
import { load, request } from "./load.ts";
import { domain, publish, taskOf } from "./components.ts";
import { start, workflowWith } from "./one-transition.ts";
import { anyOf, payload, type Subject } from "./subject.ts";

const mapping = (code: string) => ({ encoding: "NAT", location: "./bench.js", code });
const mark = (name: string) =>
  mapping(`export function InputHandler() { return {}; }
export function OutputHandler(context) { return { Data: { ${name}: context.Instance.Data.memberA } }; }`);

const task = (order: number, name: string) => ({
  order,
  task: { key: "script", domain, flow: "sys-tasks", version: "1.0.0" },
  mapping: mark(name),
});

export async function scripts(subject: Subject): Promise<void> {
  await callsAlone();
  await publish(subject, taskOf("script", "7", {}));
  await publish(subject, workflowWith("plain", []));
  await publish(subject, workflowWith("scripted", [task(1, "one"), task(2, "two")]));
  const rates = { plain: [] as number[], scripted: [] as number[] };
  const ids = { plain: await start(subject, "plain"), scripted: await start(subject, "scripted") };
  for (let round = 0; round <= rounds; round += 1) {
    for (const flow of ["plain", "scripted"] as const) {
      const next = () =>
        request(
          "PATCH",
          `/api/v1/${domain}/workflows/${flow}/instances/${anyOf(ids[flow])}/transitions/go?sync=true`,
          payload(),
        );
      const { perSecond } = await load({
        port: subject.port,
        connections: 8,
        seconds,
        next,
        good: [200, 409],
      });
      // The first round warms up.
      if (round > 0) rates[flow].push(perSecond);
    }
  }
  const [plain, scripted] = [median(rates.plain), median(rates.scripted)];
  table(
    ["transition, 8 clients", "per s", "ratio"],
    [
      ["without scripts", plain.toFixed(0), "1.00"],
      ["two script tasks, four calls", scripted.toFixed(0), (scripted / plain).toFixed(2)],
    ],
  );
  await firstCalls(subject);
}

async function callsAlone(): Promise<void> {
  // The built one: what runs in production.
  const built = new URL("../dist/scripting/worker/create-sandbox.js", import.meta.url).href;
  const module = (await import(built)) as { createSandbox: typeof createSandbox };
  const sandbox = module.createSandbox();
  const context = { Body: { text: "x".repeat(2000) } };
  const call = {
    script: {
      id: "bench",
      name: "bench.js",
      source: "export const Handler = (context) => context.Body.text.length > 1;",
      helpers: [],
    },
    handler: "Handler",
    args: JSON.stringify({ kind: "condition", context }),
  };
  await sandbox.call(call);
  let calls = 0;
  const end = performance.now() + seconds * 1000;
  const caller = async () => {
    while (performance.now() < end) {
      await sandbox.call(call);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  const { threads } = sandbox.figures();
  console.log(
    `script calls with a 2 KB context: ${(calls / seconds).toFixed(0)} per s on ${threads} threads`,
  );
  await sandbox.close();
}

async function firstCalls(subject: Subject): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < 10; i += 1) {
    await publish(subject, workflowWith(`fresh-${i}`, [task(1, `fresh${i}`)]));
    const [id] = await start(subject, `fresh-${i}`, 1);
    const path = `/api/v1/${domain}/workflows/fresh-${i}/instances/${id}/transitions/go?sync=true`;
    const begin = performance.now();
    const answer = await fetch(`${subject.url}${path}`, {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: payload(),
    });
    await answer.arrayBuffer();
    times.push(performance.now() - begin);
  }
  console.log(
    `first transition after publish, one script task: p50 ${median(times).toFixed(1)} ms`,
  );
}
