/** The core runtime package: system flows and their seeds, moved into a domain. */
import { expect, test } from "vitest";
import { aGatedRuntimeForFile } from "../support/a-gated-runtime.ts";
import { aRegistryForFile } from "../support/a-registry.ts";
import { aPackageArchive } from "../support/an-archive.ts";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { startDeployForFile } from "../support/start-deploy.ts";

const registry = await aRegistryForFile();
const gate = await aGatedRuntimeForFile();
const app = await startDeployForFile({
  settings: {
    "Runtime.Url": gate.url,
    "Deploy.Registry": registry.url,
    "Deploy.RuntimePackage": "@own/core",
    "Deploy.Concurrency": 1,
    // The configured registry may be private without being allowed here.
    "Egress.Allow": [],
  },
});
gate.target = app.runtime.url;
const path = "/api/package/runtime/publish";

const systemFlow = (key: string, data: object[] = []) => ({
  ...aWorkflow(key).with({ type: "C" }).state("draft").build(),
  data,
});
const taskSeed = { key: "script-task", version: "1.0.0", attributes: { type: "7", config: {} } };

registry.add(
  "@own/core",
  "1.0.0",
  aPackageArchive({
    "vnext.config.json": { version: "1.0.0", domain: "core" },
    "core/Workflows/sys-extensions.json": systemFlow("sys-extensions"),
    "core/Workflows/sys-flows.json": systemFlow("sys-flows"),
    "core/Workflows/sys-tasks.json": systemFlow("sys-tasks", [taskSeed]),
    "core/Tasks/invalidate-cache.json": aComponent("sys-tasks", "invalidate-cache", {
      type: "7",
      config: {},
    }),
  }),
);

test("goes with the system flows file first, then the workflows, then the rest", async () => {
  const job = await app.deploy({ appDomain: "bank" }, path);

  expect(job).toMatchObject({
    status: "completed",
    packageName: "@own/core",
    results: { success: true, appDomain: "bank", failed: [] },
  });
  expect(gate.published).toEqual(["sys-flows", "sys-extensions", "sys-tasks", "invalidate-cache"]);
});

test("moves everything to the domain, whatever replaceDomain says", async () => {
  await app.deploy({ appDomain: "insurance", replaceDomain: false }, path);

  for (const key of ["invalidate-cache", "script-task"]) {
    const read = `/api/v1/insurance/workflows/sys-tasks/instances/${key}?version=1.0.0`;
    expect(await app.runtime.get(read)).toMatchObject({
      status: 200,
      body: { domain: "insurance" },
    });
  }
});

test("a registry that only the request names is not the operator's: private ones are refused", async () => {
  const other = registry.url.replace("127.0.0.1", "127.0.0.2");

  const { error } = await app.deploy({ appDomain: "bank", npmRegistry: other }, path);

  expect(error).toMatchObject({ code: "AddressRefused" });
});
