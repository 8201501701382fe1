/** The life of a service on the embedded database, as seen by whoever starts, stops and kills it. */
import { once } from "node:events";
import { access, stat } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { isRunning } from "../../src/storage/embedded/process-identity.ts";
import { eventually } from "../support/eventually.ts";
import { canRunAsOthers, findOrdinaryUser } from "../support/other-users.ts";
import {
  aFolder,
  anyPorts,
  embeddedUrl,
  findPostgres,
  runCli,
  startService,
  type RunningCli,
} from "../support/start-cli.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const note = (version: string) => ({
  key: "note",
  flow: "sys-tasks",
  domain: "cli",
  version,
  flowVersion: "1.0.0",
  attributes: { type: "7", config: {} },
});

async function publish(service: RunningCli, version: string): Promise<number> {
  const answer = await fetch(`${service.runtimeUrl}/api/v1/definitions/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(note(version)),
  });
  return answer.status;
}

const readNote = (service: RunningCli, version: string) =>
  fetch(
    `${service.runtimeUrl}/api/v1/cli/workflows/sys-tasks/instances/note?version=${version}`,
  ).then(({ status }) => status);

/** One folder for all of these: the tests follow each other on it, as starts do in real life. */
describe("a service on the embedded database", () => {
  const cleanUps: (() => Promise<void>)[] = [];
  const atEnd = (cleanUp: () => Promise<void>) => void cleanUps.push(cleanUp);
  afterAll(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  });
  let cwd: string;
  let service: RunningCli;
  const startAgain = async () => (service = await startService([], { cwd, atEnd }));

  beforeAll(async () => {
    cwd = await aFolder(atEnd);
    await startAgain();
  });

  test("prints its addresses and a first curl that works, and keeps everything in .millrace", async () => {
    const [, tried = ""] = /curl -s (\S+)/.exec(service.stdout()) ?? [];

    const first = await fetch(tried);
    const health = await fetch(`${service.runtimeUrl}/health`);
    const deployHealth = await fetch(`${service.deployUrl}/health`);

    expect(await first.json()).toMatchObject({ key: "loan-application", domain: "loans" });
    expect(await health.json()).toMatchObject({ status: "Healthy" });
    expect(await deployHealth.json()).toMatchObject({ status: "healthy" });
    expect(service.stderr()).toBe("");
    expect((await stat(join(cwd, ".millrace"))).isDirectory()).toBe(true);
    // A home of mode 0700 stays as it is, although as root another user's server works in it.
    expect((await stat(cwd)).mode & 0o777).toBe(0o700);
  });

  test("refuses a second start on its folder, naming the folder and its own process", async () => {
    const second = await runCli(["start", ...anyPorts], { cwd });

    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/^millrace: The data folder \S+\.millrace is in use by .*\n$/);
    expect(second.stderr).toContain(`process ${service.pid};`);
    expect((await fetch(`${service.runtimeUrl}/ready`)).status).toBe(200);
  });

  test("answers 503 while its PostgreSQL is dead, brings it back and goes on by itself", async () => {
    expect(await publish(service, "1.0.0")).toBe(200);
    const before = (await findPostgres(cwd))!;
    await holdUpPublishes(cwd);
    const heldUp = publish(service, "1.0.1");
    await waitsInDatabase(cwd);

    process.kill(before, "SIGKILL");

    expect(await heldUp).toBe(503);
    await eventually(async () => expect(await publish(service, "1.0.1")).toBe(200));
    await eventually(async () => {
      expect((await fetch(`${service.runtimeUrl}/ready`)).status).toBe(200);
    });
    await eventually(async () => expect(await readNote(service, "1.0.0")).toBe(200));
    expect(await isRunning(before)).toBe(false);
    expect(await findPostgres(cwd)).not.toBe(before);
    await eventually(() => expect(service.stdout()).toContain("EmbeddedPostgresDied"));
  });

  test("killed with SIGKILL takes its PostgreSQL along, and the next start has the data", async () => {
    const postgres = (await findPostgres(cwd))!;

    service.kill("SIGKILL");
    await service.exited;

    await eventually(async () => expect(await isRunning(postgres)).toBe(false));
    await startAgain();
    expect(await readNote(service, "1.0.1")).toBe(200);
  });

  test("killed together with its PostgreSQL leaves stale files that the next start gets over", async () => {
    expect(await publish(service, "1.0.2")).toBe(200);
    const postgres = (await findPostgres(cwd))!;

    process.kill(postgres, "SIGKILL");
    service.kill("SIGKILL");
    await service.exited;
    await access(join(cwd, ".millrace", "postgres", "postmaster.pid"));
    await startAgain();

    expect(await readNote(service, "1.0.2")).toBe(200);
  });

  test("told to stop answers what is under way, takes nothing new, and ends PostgreSQL cleanly", async () => {
    const postgres = (await findPostgres(cwd))!;
    const underWay = await openPublish(service, note("1.0.3"));

    service.kill("SIGTERM");
    await eventually(async () => {
      await expect(fetch(`${service.runtimeUrl}/live`)).rejects.toThrow("fetch failed");
    });
    expect(await isRunning(postgres)).toBe(true);
    const answer = await underWay.finish();

    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await isRunning(postgres)).toBe(false);
    // A server that ends cleanly removes it; the next one then has nothing to recover.
    await expect(access(join(cwd, ".millrace", "postgres", "postmaster.pid"))).rejects.toThrow();
    expect(service.stdout()).toMatch(/"Stopping"[^]*"Stopped"/);
    expect(service.stdout()).not.toContain("DatabaseConnectionLost");
  });

  test("ends at the second Ctrl-C whatever is under way, and leaves nothing running", async () => {
    await startAgain();
    expect(await readNote(service, "1.0.3")).toBe(200);
    const postgres = (await findPostgres(cwd))!;
    await openPublish(service, note("1.0.4"));

    service.kill("SIGINT");
    // npm passes on a Ctrl-C that the terminal has sent already: the same one does not force.
    service.kill("SIGINT");
    await eventually(async () => {
      await expect(fetch(`${service.runtimeUrl}/live`)).rejects.toThrow("fetch failed");
    });
    expect(await isRunning(service.pid)).toBe(true);
    const ended = await eventually(async () => {
      service.kill("SIGINT");
      expect(await isRunning(service.pid)).toBe(false);
      return service.exited;
    });

    expect(ended).toEqual({ code: 130, signal: null });
    await eventually(async () => expect(await isRunning(postgres)).toBe(false));
  });
});

test.runIf(process.platform !== "win32")(
  "a service whose shell between npm and it is ended stops by itself",
  async () => {
    const cwd = await aFolder();
    const env = { npm_lifecycle_event: "start" };
    const service = await startService([], { cwd, env, throughShell: true });
    const postgres = (await findPostgres(cwd))!;

    service.kill("SIGTERM"); // as npm does: to the shell alone

    await eventually(async () => expect(await isRunning(postgres)).toBe(false));
    await expect(access(join(cwd, ".millrace", "postgres", "postmaster.pid"))).rejects.toThrow();
    // The service ends after its database, and nobody here is told of it: its parent is gone.
    await eventually(() => expect(service.stdout()).toMatch(/"Stopping"[^]*"Stopped"/));
  },
);

test("a port in use is one clear message, and nothing has been started", async () => {
  const cwd = await aFolder();
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;

  const runtime = await runCli(["start", "--port", `${port}`, "--init-port", "0"], { cwd });
  const deploy = await runCli(["start"], {
    cwd,
    env: { MILLRACE_PORT: "0", MILLRACE_INIT_PORT: `${port}` },
  });

  expect(runtime.code).toBe(1);
  expect(runtime.stderr).toMatch(/^millrace: Port \d+ of the runtime API \(MILLRACE_PORT\) .*\n$/);
  expect(runtime.stderr).toContain(`Port ${port} `);
  expect(deploy.code).toBe(1);
  expect(deploy.stderr).toMatch(/^millrace: Port \d+ of the deployment API \(MILLRACE_INIT_PORT\)/);
  await expect(access(join(cwd, ".millrace"))).rejects.toThrow();
});

test("in production the embedded database is refused, unless it is asked for", async () => {
  const cwd = await aFolder();
  const env = { NODE_ENV: "production" };

  const refused = await runCli(["start", ...anyPorts], { cwd, env });
  const service = await startService(["--embedded"], { cwd, env });

  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(
    /^millrace: NODE_ENV is production .*DATABASE_URL.*--embedded.*\n$/,
  );
  expect((await fetch(`${service.runtimeUrl}/ready`)).status).toBe(200);
});

test.runIf(canRunAsOthers)("an ordinary user starts it in a folder of their own", async () => {
  const user = await findOrdinaryUser();
  const cwd = await aFolder(undefined, user);

  const service = await startService([], { cwd, ...user });

  expect((await fetch(`${service.runtimeUrl}/ready`)).status).toBe(200);
  expect(await stat(`/proc/${await findPostgres(cwd)}`)).toMatchObject(user);
  service.kill("SIGTERM");
  expect(await service.exited).toEqual({ code: 0, signal: null });
});

/** Publishes wait for this lock until the server is killed. */
async function holdUpPublishes(cwd: string): Promise<void> {
  const client = new Client(await embeddedUrl(cwd));
  client.on("error", () => {}); // the server is killed under it
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  await client.query("select revision from catalogue for update");
}

async function waitsInDatabase(cwd: string): Promise<void> {
  const client = new Client(await embeddedUrl(cwd));
  await client.connect();
  await eventually(async () => {
    const { rows } = await client.query("select from pg_locks where not granted");
    expect(rows).toHaveLength(1);
  });
  await client.end();
}

/** A publish of which only half has been sent. */
async function openPublish(service: RunningCli, component: object) {
  const { port } = new URL(service.runtimeUrl);
  const body = JSON.stringify(component);
  const socket: Socket = connect(Number(port), "127.0.0.1");
  let received = "";
  socket.on("data", (data) => (received += data.toString()));
  socket.on("error", () => {}); // cut when the service is forced to stop
  await once(socket, "connect");
  socket.write(
    `POST /api/v1/definitions/publish HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  // The service has read the head of the request when it asks for the rest.
  await eventually(() => expect(received).toMatch(/^HTTP\/1\.1 100 /));
  socket.write(body.slice(0, 20));
  return {
    async finish() {
      received = "";
      const closed = once(socket, "close");
      socket.write(body.slice(20));
      await closed;
      return received;
    },
  };
}
