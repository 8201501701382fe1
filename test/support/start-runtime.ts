/**
 * The whole product in this process, on a database of its own, and a small client for it.
 *
 * `startRuntime` is for one test and ends with it; `startRuntimeForFile`, called at the top of a
 * file, serves all tests of the file, for tables of cases that do not get in each other's way.
 */
import { afterAll, expect, onTestFinished } from "vitest";
import { Agent, request } from "undici";
import { loadConfig, type Config } from "../../src/config.ts";
import { createLog, type Log } from "../../src/log.ts";
import { startMillrace, type Role } from "../../src/millrace.ts";
import type { FaultPoint } from "../../src/runtime/fault-point.ts";
import type { ScriptHost } from "../../src/scripting/script-host.ts";
import type { TaskHost } from "../../src/tasks/task-host.ts";
import { createDatabase } from "./database.ts";

export interface StartOptions {
  /** Settings that differ from the defaults: `{ "Runtime.Domain": "core" }`. */
  settings?: Partial<Config>;
  roles?: readonly Role[];
  /** Another node on a database that exists; without it a fresh one is made, and dropped at the end. */
  databaseUrl?: string;
  log?: Log;
  tasks?: TaskHost;
  scripts?: ScriptHost;
  faultPoint?: FaultPoint;
}

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  /** Parsed when it is JSON; undefined when there is none. */
  body: unknown;
  text: string;
}

type Headers = Record<string, string>;

export interface TestRuntime {
  url: string;
  /** Of the deployment API, with the role `deploy`. */
  deployUrl: string;
  databaseUrl: string;
  get(path: string, headers?: Headers): Promise<Answer>;
  /** A string is sent as it is, anything else as JSON. */
  post(path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  patch(path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  send(method: Method, path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  /** For arranging: anything but 200 fails the test. Refusals are tested with `post(publishPath, …)`. */
  publish(...components: object[]): Promise<void>;
  /** May be called before the end; the database goes too, if it was made here. */
  stop(): Promise<void>;
}

type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

export const publishPath = "/api/v1/definitions/publish";

export async function startRuntime(options: StartOptions = {}): Promise<TestRuntime> {
  const runtime = await start(options);
  onTestFinished(() => runtime.stop());
  return runtime;
}

export async function startRuntimeForFile(options: StartOptions = {}): Promise<TestRuntime> {
  const runtime = await start(options);
  afterAll(() => runtime.stop());
  return runtime;
}

async function start(options: StartOptions): Promise<TestRuntime> {
  const database = options.databaseUrl === undefined ? await createDatabase() : undefined;
  const databaseUrl = database?.url ?? options.databaseUrl ?? "";
  const { config } = loadConfig({
    env: {},
    flags: {
      "Database.Url": databaseUrl,
      "Database.PoolSize": 4,
      "Server.Host": "127.0.0.1",
      "Server.Port": 0,
      "Server.InitPort": 0,
      "Runtime.Samples": "off",
      "Log.Level": "silent",
      // A busy machine is no reason for a script to fail.
      "Scripting.TimeoutMs": 60_000,
      ...options.settings,
    },
    read: noFile,
  });
  const millrace = await startMillrace({
    config,
    log: options.log ?? createLog({ level: "silent", destination: { write() {} } }),
    roles: options.roles ?? ["api"],
    ...(options.tasks === undefined ? {} : { tasks: options.tasks }),
    ...(options.scripts === undefined ? {} : { scripts: options.scripts }),
    ...(options.faultPoint === undefined ? {} : { faultPoint: options.faultPoint }),
  });
  const url = millrace.runtimeUrl ?? millrace.deployUrl ?? millrace.operationsUrl ?? "";
  const agent = new Agent();

  const send: TestRuntime["send"] = async (method, path, body, headers) => {
    const answer = await request(url + path, {
      dispatcher: agent,
      method,
      headers: { ...(body === undefined ? {} : jsonContent), ...headers },
      ...(body === undefined ? {} : { body: textOf(body) }),
    });
    const text = await answer.body.text();
    const received = answer.headers as Answer["headers"];
    const isJson = received["content-type"]?.includes("json") === true && text !== "";
    const parsed: unknown = isJson ? JSON.parse(text) : text === "" ? undefined : text;
    return { status: answer.statusCode, headers: received, body: parsed, text };
  };

  let stopping: Promise<void> | undefined;
  return {
    url,
    deployUrl: millrace.deployUrl ?? "",
    databaseUrl,
    send,
    get: (path, headers) => send("GET", path, undefined, headers),
    post: (path, body, headers) => send("POST", path, body, headers),
    patch: (path, body, headers) => send("PATCH", path, body, headers),
    async publish(...components) {
      for (const component of components) {
        const { status, body } = await send("POST", publishPath, component);
        expect({ status, body }).toMatchObject({ status: 200 });
      }
    },
    stop: () =>
      (stopping ??= (async () => {
        await agent.close();
        await millrace.stop();
        await database?.drop();
      })()),
  };
}

const jsonContent = { "content-type": "application/json" };
const textOf = (body: unknown) => (typeof body === "string" ? body : JSON.stringify(body));

/** A `millrace.config.json` that lies about is nobody's test setting. */
function noFile(): never {
  throw Object.assign(new Error("no file"), { code: "ENOENT" });
}
