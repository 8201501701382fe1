/**
 * Registries that lie, stall and attack. Every job ends with an error that says what happened; no
 * credential goes anywhere but to the registry, and none is written down.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Client } from "pg";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createLog } from "../../src/log.ts";
import { aRegistryForFile, integrityOf } from "../support/a-registry.ts";
import { anArchive, aPackageArchive, type ArchiveEntry } from "../support/an-archive.ts";
import { aComponent } from "../support/a-workflow.ts";
import { startDeploy, startDeployForFile, type JobBody } from "../support/start-deploy.ts";

// A folder of this file's own for whatever is put aside: others use the machine's at the same time.
const aside = await mkdtemp(join(tmpdir(), "millrace-aside-"));
vi.stubEnv("TMPDIR", aside);
afterAll(() => rm(aside, { recursive: true, force: true }));

const registry = await aRegistryForFile();
let logged = "";
const options = {
  // Only this one address: every other, on the loopback too, counts as private.
  settings: {
    "Egress.Allow": ["127.0.0.1"],
    "Deploy.ArchiveLimitBytes": 1_000_000,
    "Deploy.UnpackedLimitBytes": 5_000_000,
    "Deploy.MaxFiles": 500,
  },
  log: createLog({ level: "trace", destination: { write: (line) => void (logged += line) } }),
};
const app = await startDeployForFile(options);

const npmToken = "npm_veryS3cretToken4711";
const good = aPackageArchive({
  "core/Tasks/a.json": aComponent("sys-tasks", "a", { type: "7", config: {} }),
});
const deploy = (packageName: string, more: object = {}, to = app) =>
  to.deploy({ packageName, npmRegistry: registry.url, npmToken, ...more });

/** The job failed, and with what. */
function failure(job: JobBody) {
  const { status, error, results, progress } = job;
  expect(JSON.stringify(job)).not.toContain(npmToken);
  expect({ status, phase: progress.phase, results }).toEqual({
    status: "failed",
    phase: "failed",
    results: null,
  });
  return error;
}

const thirdParty = await (async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end(good);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { seen, url: `http://127.0.0.1:${port}`, port };
})();

describe("an archive that is not the announced one", () => {
  test("tampered with", async () => {
    registry.add("tampered", "1.0.0", good);
    registry.on("/tampered/-/tampered-1.0.0.tgz", (_request, response) =>
      response.end(aPackageArchive({ "core/Tasks/evil.json": "{}" })),
    );

    expect(failure(await deploy("tampered"))).toMatchObject({
      code: "IntegrityMismatch",
      phase: "downloading",
    });
  });

  test("announced wrongly, by SHA-1 only, or not at all", async () => {
    registry.add("wrong", "1.0.0", good, { integrity: integrityOf(Buffer.from("other")) });
    registry.add("old", "1.0.0", good, { integrity: undefined, shasum: "0".repeat(40) });
    registry.add("silent", "1.0.0", good, { integrity: undefined });

    expect(failure(await deploy("wrong"))?.code).toBe("IntegrityMismatch");
    expect(failure(await deploy("old"))).toMatchObject({
      code: "IntegrityMissing",
      message: expect.stringContaining("Deploy.AllowSha1") as string,
    });
    expect(failure(await deploy("silent"))?.code).toBe("IntegrityMissing");
  });
});

describe("answers", () => {
  test.each([
    [401, "RegistryUnauthorized"],
    [403, "RegistryUnauthorized"],
    [404, "PackageNotFound"],
    [500, "RegistryFailed"],
    [204, "RegistryFailed"],
  ])("of %i end the job with %s", async (status, code) => {
    registry.on(`/status-${status}`, (request, response) =>
      // A hostile body: the credential it was sent.
      response.writeHead(status).end(status === 204 ? undefined : request.headers.authorization),
    );

    expect(failure(await deploy(`status-${status}`))?.code).toBe(code);
  });

  test.each<[string, string, string]>([
    ["html", "text/html", "<html>Sign in</html>"],
    ["text", "text/plain", "hello"],
    ["list", "application/json", "[]"],
    ["no versions", "application/json", "{}"],
    ["nothing", "application/json", ""],
    ["no archive", "application/json", body({})],
    ["a file", "application/json", body({ tarball: "file:///etc/passwd" })],
    ["a number", "application/json", body({ tarball: 7 })],
    ["a script", "application/json", body({ tarball: "javascript:alert(1)" })],
    ["a prototype", "application/json", '{"__proto__":{"versions":{}},"versions":null}'],
    ["nothing but brackets", "application/json", "[".repeat(450_000) + "]".repeat(450_000)],
    ["endless versions", "application/json", `{"versions":{${manyVersions(100_001)}}}`],
  ])("that are no package data: %s", async (name, type, text) => {
    const packageName = `answers-${name.replaceAll(" ", "-")}`;
    registry.on(`/${packageName}`, (_request, response) =>
      response.writeHead(200, { "content-type": type }).end(text),
    );

    expect(failure(await deploy(packageName))).toMatchObject({
      code: expect.stringMatching(/^(RegistryFailed|VersionNotFound)$/) as string,
    });
  });

  function manyVersions(count: number): string {
    return Array.from({ length: count }, (_, i) => `"${i}":0`).join(",");
  }

  function body(dist: object): string {
    return JSON.stringify({
      "dist-tags": { latest: "1.0.0" },
      versions: { "1.0.0": { dist } },
    });
  }

  test("that never end are cut by time, those without end by size", async () => {
    registry.on("/slow", (_request, response) => response.writeHead(200).write("{"));
    registry.on("/endless", (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(" ".repeat(65_536)));
      };
      response.writeHead(200).on("drain", more);
      more();
    });
    registry.add("large", "1.0.0", Buffer.alloc(1_000_001));
    const impatient = await startDeploy({
      ...options,
      settings: { ...options.settings, "Deploy.DownloadTimeoutSeconds": 1 },
    });

    expect(failure(await deploy("slow", {}, impatient))?.code).toBe("DownloadTimeout");
    expect(failure(await deploy("endless"))?.code).toBe("DownloadTooLarge");
    expect(failure(await deploy("large"))?.code).toBe("DownloadTooLarge");
  });

  test("of a registry that is not there", async () => {
    const job = await deploy("any", { npmRegistry: "http://127.0.0.1:1/" });

    expect(failure(job)?.code).toBe("RegistryUnreachable");
  });
});

describe("addresses that may not be called", () => {
  const refused = ["http://10.0.0.1/", "http://169.254.169.254/", "http://[::1]:1/"];

  test.each(refused)("as the registry: %s", async (npmRegistry) => {
    expect(failure(await deploy("any", { npmRegistry }))).toMatchObject({
      code: "AddressRefused",
      message: expect.stringContaining("Egress.Allow") as string,
    });
  });

  test.each(refused)("as the archive: %s", async (host) => {
    const packageName = `archive-at-${refused.indexOf(host)}`;
    registry.add(packageName, "1.0.0", good, { tarball: `${host}x.tgz` });

    expect(failure(await deploy(packageName))?.code).toBe("AddressRefused");
  });

  test.each(refused)("as a redirect: %s", async (location) => {
    const packageName = `redirect-to-${refused.indexOf(location)}`;
    registry.on(`/${packageName}`, (request, response) =>
      response
        .writeHead(302, { location: `${location}?t=${request.headers.authorization?.slice(7)}` })
        .end(),
    );

    expect(failure(await deploy(packageName))?.code).toBe("AddressRefused");
  });
});

describe("credentials", () => {
  test("go to the registry, and not to another host that has the archive", async () => {
    registry.add("elsewhere", "1.0.0", good, { tarball: `${thirdParty.url}/x.tgz` });

    const job = await deploy("elsewhere");

    expect(job.status).toBe("completed");
    expect(registry.seen.at(-1)).toEqual({
      url: "/elsewhere",
      authorization: `Bearer ${npmToken}`,
    });
    expect(thirdParty.seen).toEqual([undefined]);
  });

  test("do not follow a redirect to another host", async () => {
    registry.add("moved", "1.0.0", good);
    registry.on("/moved/-/moved-1.0.0.tgz", (_request, response) =>
      response.writeHead(302, { location: `${thirdParty.url}/y.tgz` }).end(),
    );
    const before = thirdParty.seen.length;

    const job = await deploy("moved");

    expect(job.status).toBe("completed");
    expect(thirdParty.seen.slice(before)).toEqual([undefined]);
  });

  test("user and password are sent as basic authentication", async () => {
    registry.add("feed", "1.0.0", good);
    const user = {
      npmToken: undefined,
      npmUsername: "ci",
      npmPassword: "p:ä§s",
      npmEmail: "a@b.c",
    };

    await deploy("feed", user);

    const expected = `Basic ${Buffer.from("ci:p:ä§s").toString("base64")}`;
    expect(registry.seen.slice(-2).map(({ authorization }) => authorization)).toEqual([
      expected,
      expected,
    ]);
  });
});

describe("archives", () => {
  const file = (path: string): ArchiveEntry => ({ path, content: "{}" });
  const link = { path: "package/a.json", linkpath: "/etc/passwd" };
  const manyFiles = Array.from({ length: 100_000 }, (_, i) => ({ path: `package/${i}` }));
  const bomb = gzipSync(Buffer.alloc(300_000_000), { level: 9 });

  test.each<[string, string, Buffer]>([
    ["a path upwards", "leads outside", anArchive([file("package/../../evil.json")])],
    ["a path upwards inside", "leads outside", anArchive([file("package/c/../../../evil.json")])],
    ["an absolute path", "leads outside", anArchive([file("/etc/evil.json")])],
    ["a path of another system", "leads outside", anArchive([file("package/..\\..\\evil.json")])],
    ["a drive", "leads outside", anArchive([file("C:/evil.json")])],
    ["a symbolic link", "SymbolicLink", anArchive([{ ...link, type: "SymbolicLink" }])],
    ["a hard link", "but a Link", anArchive([{ ...link, type: "Link" }])],
    ["a device", "CharacterDevice", anArchive([{ path: "package/a", type: "CharacterDevice" }])],
    ["a pipe", "FIFO", anArchive([{ path: "package/a", type: "FIFO" }])],
    ["100,000 files", "Deploy.MaxFiles", anArchive(manyFiles)],
    ["300 MB of zeros", "Deploy.UnpackedLimitBytes", bomb],
    [
      "a file larger than it says",
      "cannot be unpacked",
      anArchive([{ ...file("package/a.json"), size: 4e9 }]),
    ],
    ["HTML", "cannot be unpacked", Buffer.from("<html></html>")],
    ["a cut end", "cannot be unpacked", good.subarray(0, good.length - 20)],
    [
      "a tar that is not compressed",
      "cannot be unpacked",
      anArchive([file("package/a.json")], { gzip: false }),
    ],
    ["noise", "cannot be unpacked", gzipSync(Buffer.from("noise ".repeat(1000)))],
    ["nothing", "cannot be unpacked", Buffer.alloc(0)],
  ])("with %s are refused", async (_name, message, archive) => {
    const packageName = `archive-${archive.length}`;
    registry.add(packageName, "1.0.0", archive);

    const error = failure(await deploy(packageName));

    expect(error).toMatchObject({ code: "ArchiveInvalid", phase: "downloading" });
    expect(error?.message).toContain(message);
  });

  test("without a configuration file or a folder core are no component packages", async () => {
    registry.add("library", "1.0.0", aPackageArchive({ "index.js": "1", "package.json": "{}" }));

    expect(failure(await deploy("library"))?.code).toBe("PackageInvalid");
  });
});

test("nothing was written outside the database, and the credential was written nowhere", async () => {
  registry.add("last", "1.0.0", good);
  const { jobId } = await deploy("last");

  const client = new Client({ connectionString: app.runtime.databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ all: string }>(
    `select coalesce(string_agg(query_to_xml(format('select * from %I.%I', table_schema, table_name),
       true, false, '')::text, ''), '') as all
     from information_schema.tables where table_schema = 'public'`,
  );
  await client.end();
  const kept = rows[0]!.all;

  expect(kept).toContain(jobId);
  expect(logged).toContain(jobId);
  const secrets = [npmToken, "p:ä§s", Buffer.from("ci:p:ä§s").toString("base64")];
  for (const secret of secrets) {
    expect(kept).not.toContain(secret);
    expect(logged).not.toContain(secret);
  }
  expect(await readdir(aside)).toEqual([]);
});
