import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { StartRefusal } from "../../src/engine/start-refusal.ts";
import {
  explainHopeless,
  findPlatformPackage,
  prepareNativeBinaries,
  type NativeBinaries,
  type PlatformPackage,
} from "../../src/storage/embedded/native-binaries.ts";
import { canRunAsOthers } from "../support/other-users.ts";
import { startChild } from "./embedded-postgres-child-process.ts";

const asRootOnLinux = process.platform === "linux" && process.getuid?.() === 0;
const nobody = { uid: 65534, gid: 65534 };

async function aFolder(mode: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-binaries-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, mode);
  return folder;
}

/** The real package as npm unpacks it without running scripts: no symbolic links. */
async function aFreshPackage(parent: string): Promise<PlatformPackage> {
  const installed = await findPlatformPackage();
  const dir = join(parent, "package");
  await duplicate(join(installed.dir, "native"), join(dir, "native"));
  return { ...installed, dir };
}

/** By hard links where possible, which spares writing 60 MB for each test. */
async function duplicate(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await duplicate(source, target);
    else if (entry.isFile()) await link(source, target).catch(() => copyFile(source, target));
  }
}

const versionAs = async (user: object, { initdb }: NativeBinaries) =>
  (await promisify(execFile)(initdb, ["--version"], { ...user, cwd: "/" })).stdout;

test("a platform without a package is refused, with the package's name and the remedies", async () => {
  const refused = findPlatformPackage("linux", "mips");

  await expect(refused).rejects.toThrow(StartRefusal);
  await expect(refused).rejects.toThrow(
    /@embedded-postgres\/linux-mips, which is not installed; .*optional.*DATABASE_URL/,
  );
});

test("a system with musl is refused, with the remedies", () => {
  expect(explainHopeless("ENOENT", undefined, true)).toMatch(/needs glibc, .*musl.*DATABASE_URL/);
});

test("links that npm left out are created", async () => {
  const folder = await aFolder(0o755);
  const pkg = await aFreshPackage(folder);

  const binaries = await prepareNativeBinaries({ dataDir: folder, user: undefined, package: pkg });

  expect(binaries).toEqual({
    postgres: join(pkg.dir, "native/bin/postgres"),
    initdb: join(pkg.dir, "native/bin/initdb"),
    major: "18",
  });
  const links = JSON.parse(await readFile(join(pkg.dir, "native/pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const [wanted, found] = [stat(join(pkg.dir, source)), stat(join(pkg.dir, target))];
    expect((await found).ino).toBe((await wanted).ino);
  }
});

describe.runIf(asRootOnLinux)("a package in a home of mode 0700, as root", () => {
  let home: string;
  let shared: string;
  let dataDir: string;
  let pkg: PlatformPackage;
  beforeEach(async () => {
    home = await aFolder(0o700);
    shared = join(await aFolder(0o755), "millrace");
    dataDir = join(home, ".millrace");
    await mkdir(dataDir);
    pkg = await aFreshPackage(home);
  });
  const prepare = () =>
    prepareNativeBinaries({ dataDir, user: nobody, package: pkg, sharedDirs: [shared] });

  test("is copied to where the server's user can run it, once, and again when a sweeper came by", async () => {
    const binaries = await prepare();
    const copy = join(shared, `postgres-binaries-${pkg.version}`);
    expect(binaries.postgres).toBe(join(copy, "native/bin/postgres"));
    expect(await versionAs(nobody, binaries)).toContain("18");
    expect(await readdir(dataDir)).toEqual([]);
    expect((await stat(home)).mode & 0o777).toBe(0o700);

    const { ino } = await stat(binaries.postgres);
    await prepare();
    expect((await stat(binaries.postgres)).ino).toBe(ino);

    const zone = join(copy, "native/share/postgresql/timezone/UTC");
    await rm(zone);
    await prepare();
    expect((await stat(zone)).isFile()).toBe(true);
    expect(await readdir(shared)).toHaveLength(1);
  });

  test("is never run from a place that somebody else could have prepared", async () => {
    const planted = join(shared, `postgres-binaries-${pkg.version}`, "native/bin");
    await mkdir(planted, { recursive: true });
    await writeFile(join(planted, "postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) 18.4'\n");
    await chmod(join(planted, "postgres"), 0o755);
    await chown(join(shared, `postgres-binaries-${pkg.version}`), 12_345, 12_345);

    const refused = prepare();

    await expect(refused).rejects.toThrow(StartRefusal);
    await expect(refused).rejects.toThrow(/cannot be run as the user id 65534 from any of these/);
  });

  test("is copied next to the data when the server's user can walk there", async () => {
    const open = await aFolder(0o755);

    const binaries = await prepareNativeBinaries({ dataDir: open, user: nobody, package: pkg });

    expect(binaries.postgres.startsWith(join(open, "postgres-binaries-"))).toBe(true);
    expect(await versionAs(nobody, binaries)).toContain("18");
  });
});

test.runIf(canRunAsOthers)(
  "a read-only package is copied into an ordinary user's data",
  async () => {
    const pkg = await aFreshPackage(await aFolder(0o755));
    const dataDir = await aFolder(0o755);
    await chown(dataDir, nobody.uid, nobody.gid);

    const child = startChild(["binaries", dataDir, pkg.dir], nobody);

    expect(await child.line()).toMatchObject({
      postgres: join(dataDir, "postgres-binaries-1/native/bin/postgres"),
    });
  },
);
