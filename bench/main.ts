/**
 * `npm run bench`: what the service does per second, beside what its database can do on the same
 * machine in the same run. Machines are noisy and differ: read the ratios, not the rates.
 *
 * `npm run bench -- sync list` runs only those parts. BENCH_SECONDS (3) is the length of one slot,
 * BENCH_ROUNDS (3) how often each is repeated, BENCH_ROWS (1000000) the size of the large list,
 * BENCH_POLLS (5000) and BENCH_STREAMS (500) how many wait at once.
 */
import { asyncLatency } from "./async-latency.ts";
import { hostile } from "./hostile.ts";
import { lists } from "./lists.ts";
import { live } from "./live.ts";
import { packages } from "./packages.ts";
import { reads } from "./reads.ts";
import { scripts } from "./scripts.ts";
import { state } from "./state.ts";
import { publishWorkload, startSubject, type Subject } from "./subject.ts";
import { syncTransitions } from "./sync-transitions.ts";
import { tasks } from "./tasks.ts";

const parts: Record<string, (subject: Subject) => Promise<void>> = {
  sync: syncTransitions,
  async: asyncLatency,
  reads,
  state,
  scripts,
  tasks,
  hostile,
  lists,
  packages,
  live,
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => parts[name] === undefined);
if (unknown.length > 0) {
  console.error(`No part '${unknown.join("', '")}'. Parts: ${Object.keys(parts).join(", ")}`);
  process.exit(1);
}

for (const [name, run] of Object.entries(parts)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const subject = await startSubject();
  try {
    await publishWorkload(subject);
    console.log(`\n## ${name}`);
    await run(subject);
  } finally {
    await subject.stop();
  }
}
