import { startSubject, publishWorkload, startInstances, anyOf, payload, instancesPath } from "./subject.ts";
import { load, request } from "./load.ts";
import { cpuSeconds } from "./cpu.ts";
const s = await startSubject();
try {
await publishWorkload(s);
const ids = await startInstances(s, 3000);
for (const c of [1,8,32,128]) {
  const a = cpuSeconds(s.pid), pa = cpuSeconds(s.postgresPid);
  const r = await load({ port: s.port, connections: c, seconds: 3, next: () => request("PATCH", `${instancesPath}/${anyOf(ids)}/transitions/approve?sync=true`, payload()), good:[200,409] });
  const b = cpuSeconds(s.pid), pb = cpuSeconds(s.postgresPid); const n = r.perSecond*3;
  console.log(c, "ours", r.perSecond.toFixed(0), "node us/T", ((b-a)/n*1e6).toFixed(0), "pg us/T", ((pb-pa)/n*1e6).toFixed(0), "p50", r.p50Ms.toFixed(2), JSON.stringify(r.statuses));
}
} finally { await s.stop(); }
