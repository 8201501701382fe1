/** Against a real registry: the sample domain from `npm pack` to instances that move. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { aGatedRuntimeForFile } from "../support/a-gated-runtime.ts";
import { aPackageArchive } from "../support/an-archive.ts";
import { aVerdaccioForFile } from "../support/a-verdaccio.ts";
import { aComponent } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { packagePath, startDeployForFile } from "../support/start-deploy.ts";

const run = promisify(execFile);
const registry = await aVerdaccioForFile();
const gate = await aGatedRuntimeForFile();
const publicRegistry = await npmRegistry();
const app = await startDeployForFile({
  settings: {
    "Runtime.Url": gate.url,
    "Egress.Allow": ["loopback", new URL(publicRegistry).hostname],
  },
});
gate.target = app.runtime.url;

const sample = await (async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-pack-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const source = fileURLToPath(new URL("../../examples/loans/", import.meta.url));
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", args, { cwd: source });
  const [packed] = JSON.parse(stdout) as [{ name: string; version: string; filename: string }];
  const archive = await readFile(join(folder, packed.filename));
  await registry.publish(packed.name, packed.version, archive);
  return packed.name;
})();
const withToken = { npmRegistry: registry.url, npmToken: registry.token };

describe("a private package", () => {
  const name = "@private/tasks";

  test("is fetched with a token, and with user and password, not without or with others", async () => {
    const archive = aPackageArchive({
      "core/Tasks/t.json": aComponent("sys-tasks", "private", { type: "7", config: {} }),
    });
    await registry.publish(name, "1.0.0", archive);
    const deploy = async (credentials: object) => {
      const job = await app.deploy({
        packageName: name,
        npmRegistry: registry.url,
        ...credentials,
      });
      return job.error?.code ?? job.status;
    };

    expect(await deploy({ npmToken: registry.token })).toBe("completed");
    expect(await deploy({ ...registry.user, npmEmail: "x@example.com" })).toBe("completed");
    expect(await deploy({})).toBe("RegistryUnauthorized");
    expect(await deploy({ npmToken: "wrong" })).toBe("RegistryUnauthorized");
    expect(await deploy({ ...registry.user, npmPassword: "wrong" })).toBe("RegistryUnauthorized");
  });

  test("that is not there is told as such", async () => {
    const job = await app.deploy({ packageName: "@private/nothing", ...withToken });

    expect(job.error).toMatchObject({
      code: "PackageNotFound",
      message: expect.stringContaining("@private/nothing") as string,
    });
  });
});

describe("the sample domain, as npm packs it", () => {
  test("is cancelled half-way, deployed again into another domain, and works there", async () => {
    const body = { packageName: sample, replaceDomain: true, appDomain: "credit", ...withToken };
    const before = gate.published.length;
    gate.letThrough(0);
    const cancelledId = await app.submit(body);
    await eventually(() => expect(gate.published.length).toBeGreaterThan(before));
    await app.post(`${packagePath}/cancel/${cancelledId}`);
    gate.letThrough(Number.POSITIVE_INFINITY);
    const cancelled = await app.ended(cancelledId);

    const again = await app.deploy({ ...body, reInitialize: true });

    const half = cancelled.results!.successful;
    expect(cancelled.status).toBe("cancelled");
    expect(half.length).toBeGreaterThan(0);
    expect(half.length).toBeLessThan(cancelled.progress.total);
    expect(again).toMatchObject({ status: "completed", results: { success: true, failed: [] } });
    expect(again.results!.successful).toHaveLength(cancelled.progress.total - half.length);
    expect(again.results!.skipped.map(({ path }) => path)).toEqual(expect.arrayContaining(half));

    const quotes = instancesOf(app.runtime, "quote", "credit");
    const asked = await quotes.start({ attributes: { amount: 1200 } });
    expect(asked).toMatchObject({ status: 201, body: { state: "open" } });
    const { quote } = asked.body as { quote: string };
    expect(await quotes.send(quote, "take")).toMatchObject({ body: { state: "taken" } });
  }, 300_000);
});

/** The registry that this machine's npm uses, whichever it is. */
async function npmRegistry(): Promise<string> {
  const { stdout } = await run("npm", ["config", "get", "registry"]);
  return stdout.trim();
}

const template = "@burgan-tech/vnext-template";
const templateUrl = new URL(encodeURIComponent(template), publicRegistry);
const isReachable = await fetch(templateUrl, { signal: AbortSignal.timeout(5000) }).then(
  ({ ok }) => ok,
  () => false,
);

describe("the public system's template package", () => {
  // Skipped where the machine's registry cannot be reached or does not have it.
  test.skipIf(!isReachable)("deploys to a clear result", async () => {
    // A network has its moments.
    const job = await eventually(async () => {
      const found = await app.deploy({ packageName: template, npmRegistry: publicRegistry });
      expect(found).toMatchObject({ status: "completed", error: null });
      return found;
    });

    const { successful, failed, message } = job.results!;
    expect(successful.length + failed.length).toBe(job.progress.total);
    expect(message).toMatch(/^The package has no components\.|^Files: /);
  });
});
