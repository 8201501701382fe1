/** What half a load of hostile scripts does to the other half. */
import { domain, publish, state, workflow } from "./components.ts";
import { table } from "./figures.ts";
import { load, request } from "./load.ts";
import { payload, type Subject } from "./subject.ts";

const clients = 4;
const seconds = 8;

const flow = (key: string, code: string) =>
  workflow(key, [state("s0", 1)], {
    mapping: { encoding: "NAT", location: "./mapping.js", code },
  });

const scripts = {
  normal: "export const Handler = ({ Body }) => ({ seen: Body.memberA });",
  endless: "export const Handler = () => { for (;;); };",
  greedy:
    "export const Handler = () => { const all = []; for (;;) all.push('x'.repeat(1e5) + all.length); };",
};

const start = (key: string) => () =>
  request("POST", `/api/v1/${domain}/workflows/${key}/instances/start?sync=true`, payload());

export async function hostile(subject: Subject): Promise<void> {
  for (const [key, code] of Object.entries(scripts)) {
    await publish(subject, flow(key, code));
  }
  const normal = (time: number) =>
    load({ port: subject.port, connections: clients, seconds: time, next: start("normal") });
  await normal(3);
  const alone = await normal(seconds);
  const bad = (["endless", "greedy"] as const).map((key) =>
    load({ port: subject.port, connections: clients / 2, seconds: seconds + 2, next: start(key) }),
  );
  const beside = await normal(seconds);
  await Promise.all(bad);
  const after = await normal(seconds);
  table(
    [`${clients} normal clients`, "per s", "p50 ms", "p99 ms"],
    [
      ["alone", alone],
      [`beside ${clients} hostile ones`, beside],
      ["afterwards", after],
    ].map(([name, result]) => {
      const { perSecond, p50Ms, p99Ms } = result as typeof alone;
      return [name as string, perSecond.toFixed(0), p50Ms.toFixed(1), p99Ms.toFixed(1)];
    }),
  );
}
