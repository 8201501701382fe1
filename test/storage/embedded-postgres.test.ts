import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { StartRefusal } from "../../src/engine/start-refusal.ts";
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from "../../src/storage/embedded/embedded-postgres.ts";
import { isRunning } from "../../src/storage/embedded/process-identity.ts";
import { eventually } from "../support/eventually.ts";
import { canRunAsOthers, findOrdinaryUser } from "../support/other-users.ts";
import { startChild } from "./embedded-postgres-child-process.ts";

const onLinux = process.platform === "linux";
const asRoot = process.getuid?.() === 0;

/** Of mode 0700, like a home directory: as root, the server's user cannot walk into it. */
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "millrace-home-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

async function start(dataDir: string, options: Partial<EmbeddedPostgresOptions> = {}) {
  const server = await startEmbeddedPostgres({ dataDir, fsync: false, ...options });
  onTestFinished(() => server.stop());
  return server;
}

async function query<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const notes = (server: Pick<EmbeddedPostgres, "url">) =>
  query<{ text: string }>(server.url, "select text from note order by text").then((rows) =>
    rows.map((row) => row.text),
  );

/** One folder for all of these: the tests follow each other on it, as starts do in real life. */
describe("a data folder", () => {
  let dataDir: string;
  let clusterDir: string;
  beforeAll(() => {
    dataDir = join(home, "Größe & mehr", ".millrace");
    clusterDir = join(dataDir, "postgres");
  });

  test("is created on the first start, with a database of its own", async () => {
    const server = await start(dataDir);

    await query(server.url, "create table note (text text primary key)");
    await query(server.url, "insert into note values ('first')");
    const [database] = await query<object>(
      server.url,
      "select current_user, current_database(), getdatabaseencoding(), current_setting('listen_addresses') as listens",
    );
    expect(database).toEqual({
      current_user: "millrace",
      current_database: "millrace",
      getdatabaseencoding: "UTF8",
      listens: "127.0.0.1",
    });
    expect(server.port).toBeLessThan(32_768);
  });

  test("keeps its data over a stop and a start", async () => {
    const server = await start(dataDir);

    expect(await notes(server)).toEqual(["first"]);
  });

  test("can be stopped twice, and is free afterwards", async () => {
    const server = await start(dataDir);

    await Promise.all([server.stop(), server.stop()]);
    await server.stop();

    expect(await isRunning(server.pid)).toBe(false);
    await expect(start(dataDir)).resolves.toBeDefined();
  });

  test("tells its password to nobody but the caller", async () => {
    const said: unknown[] = [];
    const server = await start(dataDir, { log: (...event) => said.push(event) });
    const { password } = new URL(server.url);
    const passwordFile = join(dataDir, "postgres-password");

    expect((await readFile(passwordFile, "utf8")).trim()).toBe(password);
    expect((await stat(passwordFile)).mode & 0o777).toBe(0o600);
    expect((await stat(passwordFile)).uid).toBe(process.getuid?.());
    expect(said).toContainEqual(["EmbeddedPostgresStarted", expect.anything()]);
    expect(JSON.stringify(said)).not.toContain(password);
    if (onLinux) {
      for (const file of ["cmdline", "environ"]) {
        expect(await readFile(`/proc/${server.pid}/${file}`, "utf8")).not.toContain(password);
      }
    }
    await expect(query(server.url.replace(password, "guess"), "select 1")).rejects.toThrow(
      "password authentication failed",
    );
  });

  test("can be reached through a socket where its path is short enough", async () => {
    const server = await start(dataDir);
    const { socketDir, port } = server;
    const { password } = new URL(server.url);
    expect(socketDir).toBe(
      Buffer.byteLength(join(clusterDir, `.s.PGSQL.${port}`)) <= 103 ? clusterDir : undefined,
    );
    if (socketDir === undefined) return;

    const client = new Client({ host: socketDir, port, user: "millrace", password });
    await client.connect();
    const { rows } = await client.query("select inet_client_addr() as address");
    await client.end();

    expect(rows).toEqual([{ address: null }]);
  });

  test("that is in use is refused", async () => {
    await start(dataDir);

    const second = start(dataDir);

    await expect(second).rejects.toThrow(StartRefusal);
    await expect(second).rejects.toThrow(`is in use by the Millrace process ${process.pid}`);
  });

  test("is served with the settings and on the port that the caller gives", async () => {
    const before = await start(dataDir);
    await before.stop();

    const server = await start(dataDir, { port: before.port, settings: { work_mem: "7MB" } });

    expect(server.url).toBe(before.url);
    expect(
      await query(
        server.url,
        "select name, setting from pg_settings where name in ('work_mem', 'fsync', 'max_connections') order by name",
      ),
    ).toEqual([
      { name: "fsync", setting: "off" },
      { name: "max_connections", setting: "200" },
      { name: "work_mem", setting: "7168" },
    ]);
  });

  test("waits for its port when another process is just leaving it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    setTimeout(() => other.close(), 300);

    const server = await start(dataDir, { port });

    expect(server.port).toBe(port);
  });

  test("is durable unless told otherwise", async () => {
    const server = await startEmbeddedPostgres({ dataDir });
    onTestFinished(() => server.stop());

    expect(await query(server.url, "show fsync")).toEqual([{ fsync: "on" }]);
  });

  test("outlives a server that is killed: the owner is told, and the next start recovers", async () => {
    const server = await start(dataDir, { fsync: true });
    await query(server.url, "insert into note values ('before the crash')");

    process.kill(server.pid, "SIGKILL");
    const { code } = await server.exited;
    await server.stop();

    expect(code).toBeNull();
    expect(await notes(await start(dataDir))).toEqual(["before the crash", "first"]);
  });

  test("outlives its owner being killed: the server goes too, and the next start works", async () => {
    const child = startChild(["start", dataDir]);
    const server = (await child.line()) as { pid: number; url: string };
    await query(server.url, "insert into note values ('from a child')");
    const session = await openSession(server.url);

    await child.kill("SIGKILL");

    await eventually(async () => expect(await isRunning(server.pid)).toBe(false));
    await session.ended;
    expect(await notes(await start(dataDir))).toContain("from a child");
  });

  test("stays served when Ctrl-C goes to the owner's process group, until the owner stops", async () => {
    const child = startChild(["start", dataDir]);
    const server = (await child.line()) as { pid: number };

    child.killGroup("SIGINT");

    expect(await child.line()).toEqual({ answer: 42 });
    await child.finish();
    expect(await isRunning(server.pid)).toBe(false);
  });

  test.runIf(onLinux)(
    "is taken over from a server that lost both its owner and its watcher",
    async () => {
      const child = startChild(["start", dataDir]);
      const { pid } = (await child.line()) as { pid: number };
      process.kill(await findWatcher(pid), "SIGKILL");
      await child.kill("SIGKILL");
      expect(await isRunning(pid)).toBe(true);

      const said: unknown[] = [];
      const server = await start(dataDir, { log: (...event) => said.push(event) });

      expect(said).toContainEqual(["EmbeddedPostgresLeftoverStopped", { pid }]);
      expect(await isRunning(pid)).toBe(false);
      expect(await notes(server)).toContain("first");
    },
  );

  test("starts although its postmaster.pid names a process that is somebody else's by now", async () => {
    const { uid, gid } = await stat(clusterDir);
    const stranger = spawn("sleep", ["60"], asRoot ? { uid, gid } : {});
    onTestFinished(() => end(stranger));
    const pidFile = join(clusterDir, "postmaster.pid");
    await writeFile(pidFile, `${stranger.pid}\n${clusterDir}\n1\n20000\n`);
    await chown(pidFile, uid, gid);

    await start(dataDir);

    expect(await isRunning(stranger.pid!)).toBe(true);
  });

  test("that the server rejects is refused with the server's own words, and is free again", async () => {
    const refused = start(dataDir, { settings: { shared_buffers: "many" } });

    await expect(refused).rejects.toThrow(StartRefusal);
    await expect(refused).rejects.toThrow(
      /cannot start in .*postgres; .*\n.*"shared_buffers": "many"/,
    );
    await expect(start(dataDir)).resolves.toBeDefined();
  });

  test("written by another major version is refused", async () => {
    const file = join(clusterDir, "PG_VERSION");
    const version = await readFile(file, "utf8");
    await writeFile(file, "12\n");
    onTestFinished(() => writeFile(file, version));

    const refused = start(dataDir);

    await expect(refused).rejects.toThrow(StartRefusal);
    await expect(refused).rejects.toThrow(
      /was written by PostgreSQL 12, .* is PostgreSQL 18; .*pg_dump/,
    );
  });

  test("without its password is refused", async () => {
    const file = join(dataDir, "postgres-password");
    await rename(file, `${file}.away`);
    onTestFinished(() => rename(`${file}.away`, file));

    await expect(start(dataDir)).rejects.toThrow(`password file ${file} is missing`);
  });

  test.runIf(asRoot)(
    "that root owns after a restored backup is given to the server's user",
    async () => {
      await chown(join(clusterDir, "PG_VERSION"), 0, 0);
      await chown(clusterDir, 0, 0);

      const server = await start(dataDir);

      expect(await notes(server)).toContain("first");
      expect((await stat(clusterDir)).uid).not.toBe(0);
    },
  );

  test("leaves the folders above it as they were", async () => {
    const { mode, uid } = await stat(home);

    expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o700, uid: process.getuid?.() });
  });
});

test("a kill in the middle of the first start leaves nothing in the way of the second", async () => {
  let dataDir: string;
  const names = () => readdir(dataDir);
  let attempts = 0;
  // On a busy machine the kill may come too late, to a cluster that is complete: then once more.
  do {
    attempts += 1;
    dataDir = join(home, `interrupted-${attempts}`);
    const child = startChild(["start", dataDir]);
    await eventually(async () => expect(await hasBegun(dataDir)).toBe(true));
    await child.kill("SIGKILL");
  } while ((await names()).includes("postgres"));
  const server = await start(dataDir);

  expect(await query(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect((await names()).filter((name) => !name.startsWith("lock."))).toEqual([
    "postgres",
    "postgres-password",
  ]);
});

/** Whether initdb is at work: it has written the first of its files. */
async function hasBegun(dataDir: string): Promise<boolean> {
  const files = await readdir(dataDir, { recursive: true }).catch(() => []);
  return files.some((path) => path.startsWith("postgres.new-") && path.endsWith("PG_VERSION"));
}

test("a data folder that is a file is refused", async () => {
  const file = join(home, "file");
  await writeFile(file, "");

  const refused = start(file);

  await expect(refused).rejects.toThrow(StartRefusal);
  await expect(refused).rejects.toThrow(
    /The data folder .*file is not a folder .*MILLRACE_DATA_DIR/,
  );
});

test("a folder of other things is refused, not overwritten", async () => {
  const other = join(home, "other", "postgres");
  await mkdir(other, { recursive: true });
  await writeFile(join(other, "letter.txt"), "dear");

  await expect(start(join(home, "other"))).rejects.toThrow(
    /holds no PostgreSQL database; move it away/,
  );
});

describe.runIf(canRunAsOthers)("an ordinary user", () => {
  let user: { uid: number; gid: number };
  let itsHome: string;
  beforeAll(async () => {
    user = await findOrdinaryUser();
    itsHome = await mkdtemp(join(tmpdir(), "millrace-user-home-"));
    await chown(itsHome, user.uid, user.gid);
  });
  afterAll(() => rm(itsHome, { recursive: true, force: true }));

  test("runs the server as itself; root, on the same folder, leaves it its cluster", async () => {
    const dataDir = join(itsHome, ".millrace");
    const child = startChild(["start", dataDir], user);
    const { url } = (await child.line()) as { url: string };
    await query(url, "create table note (text text)");
    await child.finish();

    const server = await start(dataDir);

    expect(await notes(server)).toEqual([]);
    const clusterDir = join(dataDir, "postgres");
    expect(await stat(clusterDir)).toMatchObject(user);
    expect(await stat(`/proc/${server.pid}`)).toMatchObject(user);
  });

  test("is refused a folder it may not write, with the path, its name and the remedy", async () => {
    const dataDir = join(itsHome, "not-mine");
    await mkdir(dataDir);

    const { refusal } = await startChild(["start", dataDir], user).line();

    expect(refusal).toMatch(
      /^The data folder .*not-mine may not be written by '\w+': EACCES.*MILLRACE_DATA_DIR/,
    );
  });

  test("is refused a folder it may not create", async () => {
    const { refusal } = await startChild(["start", join(home, "beyond")], user).line();

    expect(refusal).toMatch(/^The data folder .*beyond may not be written by '\w+': EACCES/);
  });

  test("is refused a cluster that belongs to another user", async () => {
    const dataDir = join(itsHome, "shared");
    await mkdir(join(dataDir, "postgres"), { recursive: true });
    await chmod(dataDir, 0o777);

    const { refusal } = await startChild(["start", dataDir], user).line();

    expect(refusal).toMatch(/postgres belongs to the user id 0, and this process runs as '\w+'/);
  });

  test("without a name is refused, because PostgreSQL insists on one", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "millrace-nameless-"));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const nameless = { uid: 54_321, gid: 54_321 };
    await chown(dataDir, nameless.uid, nameless.gid);

    const { refusal } = await startChild(["start", dataDir], nameless).line();

    expect(refusal).toMatch(/by the user id 54321, .*\(useradd --uid 54321 millrace\)/);
  });
});

test.runIf(asRoot && onLinux)("root that may not become another user is refused", async () => {
  const dataDir = join(home, "caged");
  const through = ["setpriv", "--bounding-set=-setuid,-setgid"];

  const { refusal } = await startChild(["start", dataDir], { through }).line();

  expect(refusal).toMatch(/may not start one as another user \(setuid to \d+: EPERM\)/);
});

/** Holds a connection open until the server ends it. */
async function openSession(url: string): Promise<{ ended: Promise<void> }> {
  const client = new Client(url);
  await client.connect();
  client.on("error", () => {}); // the server says why it ends the connection
  return { ended: new Promise<void>((resolve) => client.once("end", () => resolve())) };
}

/** The watcher shares the server's session, which bears the server's pid; see `tied-process.ts`. */
async function findWatcher(serverPid: number): Promise<number> {
  for (const name of await readdir("/proc")) {
    const line = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    const session = line.slice(line.lastIndexOf(")") + 2).split(" ")[3];
    if (line.includes("(sh)") && session === String(serverPid)) return Number(name);
  }
  throw new Error(`no watcher of ${serverPid}`);
}

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
