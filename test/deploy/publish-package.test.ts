import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { deployFailures } from "../../src/deploy/deploy-failure.ts";
import { aRegistryForFile } from "../support/a-registry.ts";
import { aPackageArchive } from "../support/an-archive.ts";
import { aComponent, aSchema, aWorkflow, type Component } from "../support/a-workflow.ts";
import { deployClient, packagePath, startDeployForFile } from "../support/start-deploy.ts";

const registry = await aRegistryForFile();
const app = await startDeployForFile();

const config = (domain: string, version = "1.0.0") => ({
  name: domain,
  version,
  domain,
  paths: { componentsRoot: "c", workflows: "w", tasks: "t", schemas: "s" },
});
const task = (key: string, domain: string): Component =>
  aComponent("sys-tasks", key, { type: "7", config: { domain: "untouched" } }, { domain });
const from = { npmRegistry: registry.url };
const read = (domain: string, kind: string, key: string, version = "") =>
  app.runtime.get(
    `/api/v1/${domain}/workflows/${kind}/instances/${key}?version=${encodeURIComponent(version)}`,
  );

let count = 0;
/** A package of a name of its own. */
function aPackage(files: Record<string, string | object>, version = "1.0.0"): string {
  count += 1;
  const name = `package-${count}`;
  registry.add(name, version, aPackageArchive({ "package.json": { name, version }, ...files }));
  return name;
}

test("a package is accepted with 202, and its job tells what became of it", async () => {
  const packageName = aPackage({
    "service.config.json": config("shop", "2.1.0"),
    "c/w/order.json": aWorkflow("order").in("shop").state("open").build(),
    "c/t/ship.json": task("ship", "shop"),
  });

  const answer = await app.post(packagePath, { packageName, ...from });

  expect(answer).toMatchObject({
    status: 202,
    headers: { "x-app-version": expect.any(String) as string },
  });
  const { jobId, ...rest } = answer.body as { jobId: string };
  expect(rest).toEqual({
    statusUrl: `/api/package/publish/status/${jobId}`,
    message: expect.stringContaining(packageName) as string,
  });
  expect(await app.ended(jobId)).toEqual({
    jobId,
    packageName,
    status: "completed",
    progress: { current: 2, total: 2, currentFile: "", phase: "done" },
    results: {
      success: true,
      message: "Files: 2 published.",
      packageName,
      appDomain: null,
      successful: ["c/t/ship.json", "c/w/order.json"],
      failed: [],
      skipped: ["Mappings", "Views", "Functions", "Extensions"]
        .map((folder) => ({ path: `c/${folder}`, reason: "The package has no such folder." }))
        .concat({ path: "c/s", reason: "The package has no such folder." }),
    },
    error: null,
    cancelRequested: false,
    cancelledAt: null,
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
  });
  expect(await read("shop", "sys-flows", "order", "1.0.0-pkg.2.1.0+shop")).toMatchObject({
    status: 200,
    body: { key: "order", domain: "shop" },
  });
  // A reference names the component's own version, and finds the package's.
  expect((await read("shop", "sys-tasks", "ship", "1.0.0")).status).toBe(200);
});

test("replaceDomain moves everything but what is below config", async () => {
  const workflow = aWorkflow("order").in("shop").schema("amount").state("open").build();
  const packageName = aPackage({
    "vnext.config.json": config("shop"),
    "c/w/order.json": workflow,
    "c/t/ship.json": task("ship", "shop"),
    "c/s/amount.json": aSchema("amount", { type: "object" }, { domain: "shop" }),
  });

  const job = await app.deploy({ packageName, replaceDomain: true, appDomain: "mall", ...from });

  expect(job.results).toMatchObject({ success: true, appDomain: "mall" });
  const version = "1.0.0-pkg.1.0.0+shop";
  const moved = await read("mall", "sys-flows", "order", version);
  expect(JSON.stringify(moved.body)).not.toContain('"shop"');
  expect((await read("mall", "sys-tasks", "ship", version)).body).toMatchObject({
    domain: "mall",
    attributes: { config: { domain: "untouched" } },
  });
});

test("replaceDomain without appDomain replaces nothing, and says so", async () => {
  const packageName = aPackage({
    "service.config.json": config("plain"),
    "c/t/ship.json": task("ship", "plain"),
  });

  const answer = await app.post(packagePath, { packageName, replaceDomain: true, ...from });

  const { jobId, message } = answer.body as { jobId: string; message: string };
  expect(message).toContain("replaceDomain needs appDomain");
  expect((await app.ended(jobId)).results).toMatchObject({ success: true, appDomain: null });
  expect((await read("plain", "sys-tasks", "ship")).status).toBe(200);
});

test("a file that fails tells why and stops nothing", async () => {
  const twoInitial = aWorkflow("wrong").in("bad").state("a").state("b", { type: "initial" });
  const packageName = aPackage({
    "service.config.json": config("bad"),
    "c/t/good.json": task("good", "bad"),
    "c/t/broken.json": "{ not json",
    "c/w/wrong.json": twoInitial.build(),
    "c/w/zebra.json": aWorkflow("zebra").in("bad").state("a").build(),
  });

  const { status, error, results, progress } = await app.deploy({ packageName, ...from });

  expect({ status, error }).toEqual({ status: "completed", error: null });
  expect(progress).toMatchObject({ current: 4, total: 4, phase: "done" });
  expect(results).toMatchObject({
    success: false,
    message: "Files: 2 published, 2 failed.",
    successful: ["c/t/good.json", "c/w/zebra.json"],
    failed: [
      { path: "c/t/broken.json", reason: { code: "NotJson" } },
      {
        path: "c/w/wrong.json",
        reason: {
          code: "validation.App:900006",
          message: expect.stringContaining("Nothing was stored") as string,
          errors: [{ path: "attributes.states", message: expect.any(String) as string }],
        },
      },
    ],
  });
});

describe("published again", () => {
  const files = (key: string) => ({
    "service.config.json": config("again"),
    "c/t/a.json": task(key, "again"),
    "c/t/b.json": [task(`${key}-b`, "again"), task(`${key}-c`, "again")],
  });

  test("what is there and identical is skipped, and the job is a success", async () => {
    await app.deploy({ packageName: aPackage(files("same")), ...from });

    const { results } = await app.deploy({ packageName: aPackage(files("same")), ...from });

    expect(results).toMatchObject({
      success: true,
      message: "Files: 2 already there, unchanged.",
      successful: [],
      failed: [],
    });
    expect(results?.skipped).toEqual(
      expect.arrayContaining([
        { path: "c/t/a.json", reason: "Already published, and identical." },
        { path: "c/t/b.json", reason: "Already published, and identical." },
      ]),
    );
  });

  test.each<[string, object]>([
    ["another definition", { attributes: { type: "7", config: { more: 1 } } }],
    ["other tags", { tags: ["new"] }],
  ])("%s under the same version is a failure of that file", async (_what, change) => {
    await app.deploy({ packageName: aPackage(files("other")), ...from });
    const changed = { ...task("other", "again"), ...change };
    const packageName = aPackage({ ...files("other"), "c/t/a.json": changed });

    const { results } = await app.deploy({ packageName, ...from });

    expect(results).toMatchObject({
      success: false,
      failed: [{ path: "c/t/a.json", reason: { code: "conflict.Instance:100002" } }],
    });
  });

  test("a newer package version is published beside the old one", async () => {
    const older = aPackage(files("newer"));
    await app.deploy({ packageName: older, ...from });
    const newer = aPackage({
      ...files("newer"),
      "service.config.json": config("again", "1.1.0"),
      "c/t/a.json": { ...task("newer", "again"), tags: ["new"] },
    });

    const { results } = await app.deploy({ packageName: newer, ...from });
    const { results: olderAgain } = await app.deploy({ packageName: older, ...from });

    expect(results?.successful).toEqual(["c/t/a.json", "c/t/b.json"]);
    expect(olderAgain?.message).toBe("Files: 2 already there, unchanged.");
    for (const version of ["1.0.0-pkg.1.0.0+again", "1.0.0-pkg.1.1.0+again"]) {
      expect((await read("again", "sys-tasks", "newer", version)).status).toBe(200);
    }
  });
});

test("of a file with several components the failing ones are named", async () => {
  const wrong = (key: string) => ({
    ...task(key, "arrays"),
    attributes: { type: "no such type" },
  });
  const packageName = aPackage({
    "service.config.json": config("arrays"),
    "c/t/both.json": [task("first", "arrays"), wrong("second"), wrong("third")],
  });

  const { results } = await app.deploy({ packageName, ...from });

  expect(results?.message).toBe("Files: 1 failed.");
  expect(results?.failed).toMatchObject(
    ["second", "third"].map((key) => ({
      path: "c/t/both.json",
      reason: { component: `sys-tasks '${key}' 1.0.0-pkg.1.0.0+arrays` },
    })),
  );
  expect((await read("arrays", "sys-tasks", "first")).status).toBe(200);
});

test("seed records are published with their own package versions", async () => {
  const data = [{ key: "first-order", version: "1.0.0", attributes: { amount: 1 } }];
  const order = { ...aWorkflow("order").in("seeds").state("open").build(), data };
  const packageName = aPackage({ "service.config.json": config("seeds"), "c/w/order.json": order });

  const { results } = await app.deploy({ packageName, ...from });

  expect(results).toMatchObject({ success: true });
  expect(await read("seeds", "order", "first-order")).toMatchObject({
    status: 200,
    body: { attributes: { amount: 1 } },
  });
});

test("a package without components is completed, and says so", async () => {
  const packageName = aPackage({ "service.config.json": config("empty") });

  const { status, results } = await app.deploy({ packageName, ...from });

  expect(status).toBe("completed");
  expect(results).toMatchObject({ success: true, message: "The package has no components." });
});

test("version may be a range, a tag or exact", async () => {
  const packageName = "several-versions";
  for (const version of ["1.0.0", "1.1.0", "2.0.0"]) {
    registry.add(
      packageName,
      version,
      aPackageArchive({
        "service.config.json": config("versions", version),
        "c/t/a.json": task("a", "versions"),
      }),
    );
  }

  await app.deploy({ packageName, version: "^1.0.0", ...from });
  await app.deploy({ packageName, version: "latest", ...from });
  const { error } = await app.deploy({ packageName, version: "3.0.0", ...from });

  const found = async (version: string) =>
    (await read("versions", "sys-tasks", "a", `1.0.0-pkg.${version}+versions`)).status;
  expect([await found("1.0.0"), await found("1.1.0"), await found("2.0.0")]).toEqual([
    404, 200, 200,
  ]);
  expect(error).toMatchObject({
    code: "VersionNotFound",
    phase: "downloading",
    message: expect.stringContaining("1.0.0, 1.1.0, 2.0.0") as string,
  });
});

test("a mirror of the public registry has the archive under its own address", async () => {
  const archive = aPackageArchive({ "core/Tasks/a.json": task("mirrored", "core") });
  const tarball = "https://registry.npmjs.org/mirrored/-/mirrored-1.0.0.tgz";
  registry.add("mirrored", "1.0.0", archive, { tarball });

  const { status } = await app.deploy({ packageName: "mirrored", ...from });

  expect(status).toBe("completed");
  expect(registry.seen.at(-1)?.url).toBe("/mirrored/-/mirrored-1.0.0.tgz");
});

describe("a request that cannot be used is refused with the field's name", () => {
  const slashes = "/".repeat(1_500_000);

  test.each<[string, object, string]>([
    ["no packageName", {}, "packageName"],
    ["a blank packageName", { packageName: " " }, "packageName"],
    ["a packageName of another type", { packageName: 7 }, "packageName"],
    ["a path as packageName", { packageName: "../etc" }, "packageName"],
    ["an address as packageName", { packageName: "https://host/x.tgz" }, "packageName"],
    ["a file as version", { packageName: "a", version: "file:/etc" }, "version"],
    ["a number as version", { packageName: "a", version: 1 }, "version"],
    ["text as replaceDomain", { packageName: "a", replaceDomain: "true" }, "replaceDomain"],
    ["text as reInitialize", { packageName: "a", reInitialize: "yes" }, "reInitialize"],
    ["a number as appDomain", { packageName: "a", appDomain: 1 }, "appDomain"],
    ["a blank appDomain", { packageName: "a", replaceDomain: true, appDomain: " " }, "appDomain"],
    ["digits", { packageName: "a", replaceDomain: true, appDomain: "d1" }, "appDomain"],
    ["length", { packageName: "a", replaceDomain: true, appDomain: "d".repeat(51) }, "appDomain"],
    ["a folder as registry", { packageName: "a", npmRegistry: "/tmp" }, "npmRegistry"],
    ["file: as registry", { packageName: "a", npmRegistry: "file:///tmp" }, "npmRegistry"],
    // Looking for the end of its slashes would take hours.
    ["a long one", { packageName: "a", npmRegistry: `http://h/${slashes}x` }, "npmRegistry"],
    ["user info in it", { packageName: "a", npmRegistry: "https://u:p@host/" }, "npmRegistry"],
    ["a token of two lines", { packageName: "a", npmToken: "a\nb" }, "npmToken"],
    ["a list as token", { packageName: "a", npmToken: ["a"] }, "npmToken"],
    ["a user alone", { packageName: "a", npmUsername: "u" }, "npmPassword"],
    ["a password alone", { packageName: "a", npmPassword: "p" }, "npmUsername"],
  ])("%s", async (_what, body, field) => {
    const answer = await app.post(packagePath, body);

    expect(answer).toMatchObject({
      status: 400,
      headers: { "x-app-version": expect.any(String) as string },
      body: { code: "ModelValidation:Failed" },
    });
    expect(Object.keys((answer.body as { errors: object }).errors)).toEqual([field]);
  });

  test("a body that is no JSON is refused too", async () => {
    expect(await app.post(packagePath, "{")).toMatchObject({
      status: 400,
      body: { code: "Http:400002" },
    });
  });

  test.each([{}, { appDomain: "" }, { appDomain: "  " }, { appDomain: null }])(
    "the runtime package with %j",
    async (body) => {
      const answer = await app.post("/api/package/runtime/publish", body);

      expect(answer).toMatchObject({
        status: 400,
        body: { errors: { appDomain: [expect.any(String)] } },
      });
    },
  );
});

describe("POST /api/v1/definitions/publish on the deployment API", () => {
  const path = "/api/v1/definitions/publish";

  test("answers what the runtime answers", async () => {
    const component = task("proxied", "core");

    const first = await app.post(path, component, { act_sub: "clerk-7" });
    const again = await app.post(path, component);
    const wrong = await app.post(path, { ...component, version: "one" });

    expect(first).toMatchObject({ status: 200, body: { key: "proxied", version: "1.0.0" } });
    expect(again).toMatchObject({
      status: 409,
      headers: { "content-type": "application/problem+json; charset=utf-8" },
      body: { errorCode: "conflict.Instance:100002" },
    });
    expect(wrong).toMatchObject({ status: 400, body: { errorCode: "validation.App:900006" } });
    expect((await read("core", "sys-tasks", "proxied")).body).toMatchObject({
      metadata: { createdBy: "clerk-7" },
    });
  });
});

test("an answer of any kind carries X-App-Version", async () => {
  const { get, post } = deployClient(app.url);
  const answers = [
    await get("/health"),
    await get("/nowhere"),
    await get(`${packagePath}/status/unknown`),
    await post(`${packagePath}/cancel/unknown`),
    await post(packagePath, {}),
    await get(packagePath),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 404, 404, 404, 400, 405]);
  expect(new Set(answers.map(({ headers }) => headers["x-app-version"])).size).toBe(1);
  expect(answers[0]?.headers["x-app-version"]).toMatch(/^\d/);
});

test("/health has a status and a timestamp", async () => {
  expect((await app.get("/health", { accept: "application/json" })).body).toEqual({
    status: "healthy",
    vnextApp: "healthy",
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
  });
});

test("the API has a document", async () => {
  const { body } = await app.get("/openapi.json");

  expect(Object.keys((body as { paths: object }).paths).toSorted()).toEqual([
    "/api/package/plan",
    "/api/package/publish",
    "/api/package/publish/cancel/{jobId}",
    "/api/package/publish/status/{jobId}",
    "/api/package/publish/status/{jobId}/events",
    "/api/package/runtime/publish",
    "/api/v1/definitions/publish",
    "/health",
    "/live",
    "/metrics",
    "/ready",
    "/version",
  ]);
});

test("docs/deployment.md has the reason behind every code of a failed job", () => {
  const page = readFileSync(new URL("../../docs/deployment.md", import.meta.url), "utf8");
  const rows = Object.entries(deployFailures).map(([code, why]) => `| \`${code}\` | ${why} |`);

  expect(page.split("\n").filter((line) => /^\| `[A-Z][A-Za-z]+` \|/.test(line))).toEqual(rows);
});
