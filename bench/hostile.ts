/** What half a load of hostile scripts does to the other half. */
import { table } from "./figures.ts";
import { load, request } from "./load.ts";
import { domain, payload, type Subject } from "./subject.ts";

const labels = [{ label: "bench", language: "en" }];
const clients = 4;
const seconds = 8;

const flow = (key: string, code: string) => ({
  domain,
  version: "1.0.0",
  flowVersion: "1.0.0",
  key,
  flow: "sys-flows",
  attributes: {
    type: "F",
    labels,
    startTransition: {
      key: "start",
      target: "s0",
      triggerType: 0,
      versionStrategy: "Minor",
      labels,
      mapping: { encoding: "NAT", location: "./mapping.js", code },
    },
    states: [{ key: "s0", stateType: 1, versionStrategy: "Minor", labels }],
  },
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
    await fetch(`${subject.url}/api/v1/definitions/publish`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(flow(key, code)),
    });
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
