import { expect, test } from "vitest";
import type { Role } from "../../src/millrace.ts";
import { startRuntime } from "../support/start-runtime.ts";

test.for<{ role: Role }>([{ role: "api" }, { role: "worker" }, { role: "deploy" }])(
  "a node with the role $role alone can be probed and scraped",
  async ({ role }) => {
    const settings = { "Runtime.Url": "http://127.0.0.1:1" };
    const app = await startRuntime({ roles: [role], settings });

    const live = await app.get("/live");
    const ready = await app.get("/ready");
    const version = await app.get("/version");
    const metrics = await app.get("/metrics");

    expect(live).toMatchObject({ status: 200, body: { info: [{ key: "self" }] } });
    expect(ready).toMatchObject({ status: 200, body: { info: [{ key: "database" }] } });
    expect(version).toMatchObject({ status: 200, body: { service: "millrace" } });
    expect(metrics.text).toContain("process_uptime_seconds");
  },
);

test("a worker answers nothing but that", async () => {
  const app = await startRuntime({ roles: ["worker"] });

  const health = await app.get("/health");
  const definition = await app.get("/api/v1/core/workflows/sys-flows/instances/loan");

  expect(health).toMatchObject({ status: 200, body: { status: "Healthy" } });
  expect(definition).toMatchObject({ status: 404, body: { errorCode: "notfound.Http:404001" } });
});
