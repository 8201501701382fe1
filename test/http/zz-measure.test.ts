import { test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";
const app = await startRuntimeForFile();
const allow = (role: string) => ({ role, grant: "allow" });
let w = aWorkflow("m").state("here");
for (let i = 0; i < 8; i++) w = w.transition(`t${i}`, { roles: [allow("officer"), allow("x")], annotations: { a: "b" } });
await app.publish(w.cancel("drop", { to: "here" }));
const f = instancesOf(app, "m");
const id = await f.begin({ a: 1 });
const cpu = async (path: string, headers: Record<string,string>) => {
  const n = 2000; let left = n; const t = process.cpuUsage();
  await Promise.all(Array.from({ length: 16 }, async () => { while (left-- > 0) await app.get(path, headers); }));
  const u = process.cpuUsage(t);
  return Math.round((u.user + u.system) / n);
};
test("x", async () => {
  const s = `${f.path}/${id}/functions/state`;
  const tag = (await app.get(s, { role: "officer" })).headers["etag"] ?? "";
  for (let k = 0; k < 4; k++) {
    console.log("us cpu: instance", await cpu(`${f.path}/${id}`, { role: "officer" }), "state", await cpu(s, { role: "officer" }), "304", await cpu(s, { role: "officer", "if-none-match": tag }));
  }
}, 120000);
