/** `sync=false`: how long from the 202 to the end of the transition when idle, and how many a second. */
import { median, percentile, seconds, table } from "./figures.ts";
import { load, request } from "./load.ts";
import { anyOf, instancesPath, payload, startInstances, type Subject } from "./subject.ts";

const singles = 200;

export async function asyncLatency(subject: Subject): Promise<void> {
  const ids = await startInstances(subject, 2000);
  const sync: number[] = [];
  const accepted: number[] = [];
  const done: number[] = [];
  for (let i = 0; i < singles + 50; i += 1) {
    const id = ids[i]!;
    const path = `${subject.url}${instancesPath}/${id}`;
    const send = async (mode: boolean) => {
      const start = performance.now();
      const answer = await fetch(`${path}/transitions/approve?sync=${mode}`, {
        method: "PATCH",
        headers: { "content-type": "application/json" },
        body: payload(),
      });
      await answer.arrayBuffer();
      return performance.now() - start;
    };
    const syncMs = await send(true);
    const sentAt = Date.now();
    const acceptMs = await send(false);
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
    const history = (await (await fetch(`${path}/transitions`)).json()) as {
      transitions: { finishedAt: string }[];
    };
    const last = history.transitions.at(-1)!;
    // The first ones warm the compilers up.
    if (i < 50) continue;
    sync.push(syncMs);
    accepted.push(acceptMs);
    done.push(Math.max(0, Date.parse(last.finishedAt) - sentAt));
  }
  table(
    ["idle, one at a time", "p50 ms", "p99 ms"],
    [
      ["sync=true, answered", median(sync).toFixed(2), percentile(sync, 0.99).toFixed(2)],
      ["sync=false, accepted", median(accepted).toFixed(2), percentile(accepted, 0.99).toFixed(2)],
      ["sync=false, sent to done", median(done).toFixed(0), percentile(done, 0.99).toFixed(0)],
    ],
  );
  const next = () =>
    request("PATCH", `${instancesPath}/${anyOf(ids)}/transitions/approve?sync=false`, payload());
  const flow = await load({ port: subject.port, connections: 32, seconds, next, good: [202, 409] });
  const good = (flow.statuses[202] ?? 0) / seconds;
  console.log(`32 clients: ${good.toFixed(0)} accepted per s, errors ${flow.errors}`);
}
