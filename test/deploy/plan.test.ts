import { describe, expect, test } from "vitest";
import type { Plan } from "../../src/deploy/plan-package.ts";
import { aRegistryForFile } from "../support/a-registry.ts";
import { aPackageArchive } from "../support/an-archive.ts";
import { aComponent, aSchema, aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { packagePath, startDeployForFile } from "../support/start-deploy.ts";

const registry = await aRegistryForFile();
const app = await startDeployForFile();
const path = "/api/package/plan";

const order = (version: string) =>
  aWorkflow("order")
    .version(version)
    .state("open")
    .transition("pay", { to: "done", schema: "payment" })
    .state("done", { type: "finish" })
    .build();
const task = (key: string, config: object = {}) =>
  aComponent("sys-tasks", key, { type: "7", config });
const config = (version: string) => ({ version, domain: "core" });
const body = { packageName: "planned", npmRegistry: registry.url };

const first = {
  "service.config.json": config("1.0.0"),
  "core/Workflows/order.json": order("1.0.0"),
  "core/Schemas/payment.json": aSchema("payment", { type: "object" }),
  "core/Tasks/changed.json": task("changed"),
};
registry.add("planned", "1.0.0", aPackageArchive(first));
const published = await app.deploy(body);
const orders = instancesOf(app.runtime, "order");
const running = await orders.begin({ key: "O-1" });

registry.add(
  "planned",
  "1.0.1",
  aPackageArchive({
    ...first,
    // The author forgot to raise the package's version.
    "core/Workflows/order.json": order("1.1.0"),
    "core/Tasks/changed.json": task("changed", { more: true }),
    "core/Tasks/new.json": task("new"),
    "core/Tasks/twice.json": [task("twice"), task("twice", { other: true })],
    "core/Tasks/broken.json": "{",
    "core/Workflows/invalid.json": aWorkflow("invalid")
      .state("a")
      .state("b", { type: "initial" })
      .build(),
    "core/Workflows/lonely.json": aWorkflow("lonely").schema("nowhere").state("a").build(),
  }),
);

describe("a plan", async () => {
  const answer = await app.post(path, body);
  const plan = answer.body as Plan;
  const of = (file: string) => plan.components.filter((component) => component.path === file);

  test("names the package and counts what would happen", () => {
    expect(published.status).toBe("completed");
    expect(answer.status).toBe(200);
    expect(plan).toMatchObject({
      packageName: "planned",
      version: "1.0.1",
      domain: "core",
      packageVersion: "1.0.0",
      appDomain: null,
      summary: { new: 4, same: 1, conflict: 2, invalid: 2 },
    });
  });

  test("tells new, same and conflicting components apart", () => {
    expect(of("core/Tasks/new.json")).toEqual([
      {
        path: "core/Tasks/new.json",
        component: {
          domain: "core",
          flow: "sys-tasks",
          key: "new",
          version: "1.0.0-pkg.1.0.0+core",
        },
        outcome: "new",
        current: null,
        errors: [],
        warnings: [],
      },
    ]);
    expect(of("core/Schemas/payment.json")).toMatchObject([
      { outcome: "same", current: "1.0.0-pkg.1.0.0+core" },
    ]);
    expect(of("core/Tasks/changed.json")).toMatchObject([
      { outcome: "conflict", errors: [{ path: "version" }] },
    ]);
    expect(of("core/Tasks/twice.json")).toMatchObject([
      { outcome: "new" },
      { outcome: "conflict", errors: [{ message: expect.stringContaining("Another file") }] },
    ]);
  });

  test("has the mistakes of invalid components by path", () => {
    expect(of("core/Workflows/invalid.json")).toMatchObject([
      { outcome: "invalid", errors: [{ path: "attributes.states" }] },
    ]);
    expect(of("core/Tasks/broken.json")).toMatchObject([{ outcome: "invalid", component: null }]);
  });

  test("warns of references that lead nowhere, and of no others", () => {
    expect(of("core/Workflows/lonely.json")).toMatchObject([
      {
        outcome: "new",
        warnings: [
          {
            path: "attributes.schema",
            message: expect.stringContaining("'nowhere'") as string,
          },
        ],
      },
    ]);
    expect(of("core/Workflows/order.json")).toMatchObject([{ outcome: "new", warnings: [] }]);
  });

  test("shows the instances of workflows that change", () => {
    expect(plan.changedWorkflows).toEqual([
      {
        domain: "core",
        workflow: "order",
        current: "1.0.0-pkg.1.0.0+core",
        next: "1.1.0-pkg.1.0.0+core",
        openInstances: {
          count: 1,
          byStatus: { A: 1 },
          newest: [
            {
              id: running,
              key: "O-1",
              flowVersion: "1.0.0-pkg.1.0.0+core",
              currentState: "open",
              status: "A",
            },
          ],
        },
      },
    ]);
  });

  test("publishes nothing", async () => {
    const read = (kind: string, key: string) =>
      app.runtime.get(`/api/v1/core/workflows/${kind}/instances/${key}`);

    expect((await read("sys-tasks", "new")).status).toBe(404);
    expect((await read("sys-flows", "lonely")).status).toBe(404);
  });

  test("of a moved package is about the other domain", async () => {
    const moved = await app.post(path, { ...body, replaceDomain: true, appDomain: "mall" });

    expect(moved.body).toMatchObject({
      appDomain: "mall",
      summary: { new: 6, same: 0, conflict: 1, invalid: 2 },
      changedWorkflows: [],
    });
  });
});

test("a package that cannot be fetched is 422 with the code a job would have", async () => {
  const answer = await app.post(path, { ...body, packageName: "unknown" });

  expect(answer).toMatchObject({
    status: 422,
    body: { code: "PublishJob:700003", target: "PackageNotFound" },
  });
});

test("a request that cannot be used is refused as by publish", async () => {
  for (const wrong of [{}, { packageName: "../x" }, { packageName: 1 }]) {
    const [planned, asked] = [await app.post(path, wrong), await app.post(packagePath, wrong)];
    expect(planned.status).toBe(400);
    expect((planned.body as { errors: object }).errors).toEqual(
      (asked.body as { errors: object }).errors,
    );
  }
});
