/**
 * The configuration: one typed object, read once at start.
 *
 * defaults < JSON file (`millrace.config.json`, or `--config`) < environment < flags.
 *
 * Every setting has a dotted name (`WorkflowExecution.TransitionJobTimeoutSeconds`). In the file it
 * may be nested or dotted; in the environment dots become two underscores; letter case never matters.
 * A few settings have a short environment name as well (`DATABASE_URL`). A key nobody knows stops
 * the start: a misspelt limit that is silently ignored is worse than no limit.
 */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { StartRefusal } from "./engine/start-refusal.ts";

type Kind = "text" | "integer" | "boolean" | "list" | "choice";

interface Setting<T> {
  kind: Kind;
  default: T;
  about: string;
  env?: string;
  /** Shown as `***` by `millrace doctor`; a connection string only loses its password. */
  secret?: "whole" | "url";
  min?: number;
  max?: number;
  choices?: readonly string[];
  /** Of text, or of each item of a list. */
  form?: Form;
}

interface Form {
  fits: (text: string) => boolean;
  allowed: string;
}

const textSetting = (s: Omit<Setting<string>, "kind">): Setting<string> => ({ kind: "text", ...s });
const integer = (s: Omit<Setting<number>, "kind">): Setting<number> => ({ kind: "integer", ...s });
const boolean = (s: Omit<Setting<boolean>, "kind">): Setting<boolean> => ({
  kind: "boolean",
  ...s,
});
const list = (s: Omit<Setting<string[]>, "kind">): Setting<string[]> => ({ kind: "list", ...s });
const choiceSetting = <const C extends string>(
  choices: readonly C[],
  s: Omit<Setting<C>, "kind" | "choices">,
): Setting<C> => ({ kind: "choice", choices, ...s });

const port = { min: 0, max: 65_535 };

const connectionString: Form = {
  // The driver takes `postgres://user@/db?host=/folder` for a socket; an address needs a host.
  fits: (text) =>
    text === "" ||
    (/^postgres(ql)?:\/\//i.test(text) && URL.canParse(text.replace("@/", "@socket/"))),
  allowed: "postgres://user:password@host:5432/database, special characters percent-encoded",
};

const notEmpty: Form = { fits: (text) => text !== "", allowed: "anything but empty" };

const peer: Form = {
  fits: (text) => {
    if (/^(loopback|private)$/i.test(text)) return true;
    const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    const family = isIP(address);
    return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
  },
  allowed: "loopback, private, addresses and CIDR ranges such as 10.1.0.0/16",
};

export const settings = {
  "Database.Url": textSetting({
    default: "",
    env: "DATABASE_URL",
    secret: "url",
    form: connectionString,
    about:
      "connection string of PostgreSQL 15 or newer; empty = embedded server in the data folder",
  }),
  "Database.PoolSize": integer({
    default: 16,
    min: 2,
    max: 500,
    about: "connections this node may hold",
  }),
  "Database.StatementTimeoutMs": integer({
    default: 10_000,
    min: 100,
    about: "longest time one SQL statement may take",
  }),
  "Server.Host": textSetting({
    default: "",
    env: "MILLRACE_HOST",
    about: "address to listen on; empty = loopback, IPv4 and IPv6",
  }),
  "Server.Port": integer({
    default: 4201,
    ...port,
    env: "MILLRACE_PORT",
    about: "port of the runtime API; 0 = any free port",
  }),
  "Server.InitPort": integer({
    default: 3005,
    ...port,
    env: "MILLRACE_INIT_PORT",
    about: "port of the deployment API; 0 = any free port",
  }),
  "Server.ShutdownSeconds": integer({
    default: 20,
    min: 0,
    max: 600,
    about: "how long requests in progress may take to end after SIGTERM",
  }),
  "Runtime.Domain": textSetting({
    default: "",
    env: "MILLRACE_DOMAIN",
    about: "the one domain this runtime serves; empty = every domain that is published",
  }),
  "Runtime.Url": textSetting({
    default: "",
    env: "MILLRACE_RUNTIME_URL",
    about: "base address of the runtime for a deployment service that runs apart",
  }),
  "Runtime.DataDir": textSetting({
    default: ".millrace",
    env: "MILLRACE_DATA_DIR",
    form: notEmpty,
    about: "folder for everything this node keeps on disk",
  }),
  "Runtime.Samples": choiceSetting(["auto", "on", "off"], {
    default: "auto",
    env: "MILLRACE_SAMPLES",
    about: "publish the sample domain at start; auto = only on the embedded server",
  }),
  "Authorization.EnforceTransitionRoles": boolean({
    default: true,
    about: "refuse a transition whose roles the caller lacks; false = a gateway does it",
  }),
  "Instances.StartOnExistingKey": choiceSetting(["conflict", "returnExisting"], {
    default: "conflict",
    about:
      "a start whose key is in use: 409, or the existing instance as the public system answers",
  }),
  "Publish.RequireFlowVersion": boolean({
    default: true,
    about: "refuse a component without flowVersion; false = it defaults to version",
  }),
  "Http.BodyLimitBytes": integer({
    default: 2 * 1024 * 1024,
    min: 1024,
    about: "largest request body",
  }),
  "Http.JsonDepth": integer({ default: 64, min: 8, max: 512, about: "deepest JSON nesting" }),
  "Http.HeaderBytes": integer({
    default: 65_536,
    min: 8192,
    about: "largest total size of request headers",
  }),
  "Http.HeaderCount": integer({ default: 200, min: 20, about: "most request header fields" }),
  "Http.RequestTimeoutSeconds": integer({
    default: 30,
    min: 1,
    about: "how long a client may take to send its request",
  }),
  "Http.ErrorTypeBase": textSetting({
    default: "https://httpstatuses.com",
    about: "start of the 'type' address of problem responses",
  }),
  "Http.CorsOrigins": list({
    default: [],
    about: "origins that may call from a browser; * = any",
  }),
  "Http.TrustedPeers": list({
    default: ["loopback", "private"],
    form: peer,
    about: "peers whose identity headers are believed: addresses, CIDR ranges, loopback, private",
  }),
  "Log.Level": choiceSetting(["fatal", "error", "warn", "info", "debug", "trace", "silent"], {
    default: "info",
    env: "MILLRACE_LOG_LEVEL",
    about: "least level that is written",
  }),
  "Log.Format": choiceSetting(["auto", "json", "pretty"], {
    default: "auto",
    about: "auto = readable on a terminal, JSON elsewhere",
  }),
  "Scripting.TimeoutMs": integer({
    default: 1000,
    min: 10,
    max: 60_000,
    about: "how long one call of a script may take",
  }),
  "Scripting.MemoryMb": integer({
    default: 32,
    min: 4,
    max: 512,
    about: "how much memory one call of a script may use",
  }),
  "Scripting.Environment": list({
    default: [],
    about: "environment variables that scripts may read with GetConfigValue",
  }),
  "Scripting.Secrets": list({
    default: [],
    about: "secrets that scripts may read, as store/secret/key=ENVIRONMENT_VARIABLE",
  }),
  "WorkflowExecution.TransitionJobTimeoutSeconds": integer({
    default: 300,
    min: 1,
    about: "budget of one transition job",
  }),
  "WorkflowExecution.TransitionJobLockLeaseSeconds": integer({
    default: 330,
    min: 1,
    about: "lease of a transition job; longer than the budget",
  }),
  "ExecutionApi.InvocationTimeoutSeconds": integer({
    default: 60,
    min: 1,
    about: "ceiling of one remote invocation",
  }),
} as const;

export type SettingName = keyof typeof settings;
type ValueOf<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [K in SettingName]: ValueOf<(typeof settings)[K]> };

export type Source = "default" | "file" | "environment" | "flag";
export interface LoadedConfig {
  config: Config;
  sources: Record<SettingName, Source>;
}

export interface ConfigInputs {
  env: Record<string, string | undefined>;
  /** Path given with `--config`; must exist. Without it `millrace.config.json` is read if present. */
  file?: string | undefined;
  flags?: Partial<Config>;
  read?: (path: string) => string;
}

const defaultFile = "millrace.config.json";
const names = Object.keys(settings) as SettingName[];
const byFoldedName = new Map(names.map((name) => [name.toLowerCase(), name]));
const byEnvName = new Map(
  names.flatMap((name) => {
    const env = (settings[name] as Setting<unknown>).env;
    return env === undefined ? [] : [[env, name] as const];
  }),
);
const sections = new Set(names.map((name) => name.split(".")[0]!.toLowerCase()));

export function loadConfig(inputs: ConfigInputs): LoadedConfig {
  const values: Record<string, unknown> = {};
  const sources: Record<string, Source> = {};
  for (const name of names) {
    values[name] = settings[name].default;
    sources[name] = "default";
  }

  const take = (name: SettingName, value: unknown, source: Source, where: string) => {
    values[name] = parseValue(name, value, where);
    sources[name] = source;
  };

  for (const [name, value, where] of fromFile(inputs)) take(name, value, "file", where);
  for (const [name, value, where] of fromEnvironment(inputs.env)) {
    take(name, value, "environment", where);
  }
  for (const [name, value] of Object.entries(inputs.flags ?? {})) {
    if (value !== undefined) take(name as SettingName, value, "flag", "the command line");
  }

  return { config: values as Config, sources: sources };
}

type Found = [name: SettingName, value: unknown, where: string];

function fromFile({ file, read = (path) => readFileSync(path, "utf8") }: ConfigInputs): Found[] {
  const path = file ?? defaultFile;
  let content: string;
  try {
    content = read(path);
  } catch (cause) {
    if (file === undefined && (cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new StartRefusal(
      `The configuration file '${path}' cannot be read (${(cause as Error).message}). Check the path given with --config and its rights.`,
    );
  }
  let tree: unknown;
  try {
    tree = JSON.parse(content);
  } catch (cause) {
    throw new StartRefusal(
      `The configuration file '${path}' is not JSON: ${(cause as Error).message}.`,
    );
  }
  if (typeof tree !== "object" || tree === null || Array.isArray(tree)) {
    throw new StartRefusal(`The configuration file '${path}' must hold one JSON object.`);
  }
  return flatten(tree).map(([key, value]) => {
    const name = byFoldedName.get(key.toLowerCase());
    if (name === undefined) throw unknownKey(key, `the file '${path}'`);
    return [name, value, `the file '${path}'`];
  });
}

/** `{ a: { b: 1 }, "c.d": 2 }` → `a.b`, `c.d`. `$schema` is for editors. */
function flatten(tree: object, prefix = ""): [string, unknown][] {
  return Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
    if (prefix === "" && key === "$schema") return [];
    const path = prefix === "" ? key : `${prefix}.${key}`;
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? flatten(value, path)
      : [[path, value]];
  });
}

function fromEnvironment(env: ConfigInputs["env"]): Found[] {
  const found: Found[] = [];
  for (const [variable, value] of Object.entries(env)) {
    if (value === undefined) continue;
    const where = `the environment variable ${variable}`;
    const short = byEnvName.get(variable.toUpperCase());
    if (short !== undefined) {
      found.push([short, value, where]);
      continue;
    }
    const dotted = variable.replaceAll("__", ".");
    const section = dotted.split(".")[0]!.toLowerCase();
    const ours = /^MILLRACE_/i.test(variable) || (dotted.includes(".") && sections.has(section));
    if (!ours) continue;
    const name = byFoldedName.get(dotted.toLowerCase());
    if (name !== undefined) found.push([name, value, where]);
    else if (!environmentOfTests.has(variable)) throw unknownKey(variable, "the environment");
  }
  return found;
}

/** Switches of the crash tests; not settings, and not for anybody else. */
const environmentOfTests = new Set(["MILLRACE_FAULT_POINT"]);

function unknownKey(key: string, where: string): StartRefusal {
  const nearest = nearestName(key);
  const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
  return new StartRefusal(
    `Unknown configuration key '${key}' in ${where}.${hint} Known keys: ${names.join(", ")}; and in the environment ${[...byEnvName.keys()].join(", ")}.`,
  );
}

function nearestName(key: string): string | undefined {
  const folded = key.replaceAll("__", ".").toLowerCase();
  const candidates = [...names, ...byEnvName.keys()];
  const scored = candidates
    .map((name) => ({ name, distance: editDistance(folded, name.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = scored[0];
  return best !== undefined && best.distance <= Math.max(2, folded.length / 4)
    ? best.name
    : undefined;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replace = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

function parseValue(name: SettingName, raw: unknown, where: string): unknown {
  const setting = settings[name] as Setting<unknown>;
  const refuse = (allowed: string) =>
    new StartRefusal(
      `${name} in ${where} is ${setting.secret === undefined ? `'${String(raw)}'` : "malformed"}; allowed: ${allowed}.`,
    );
  switch (setting.kind) {
    case "text":
      if (typeof raw !== "string") throw refuse("text");
      if (setting.form?.fits(raw.trim()) === false) throw refuse(setting.form.allowed);
      return raw.trim();
    case "integer": {
      const value = typeof raw === "string" && /^-?\d+$/.test(raw.trim()) ? Number(raw) : raw;
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = setting;
      if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
        const range = setting.max === undefined ? `from ${min} up` : `${min} to ${max}`;
        throw refuse(`a whole number ${range}`);
      }
      return value;
    }
    case "boolean": {
      if (typeof raw === "boolean") return raw;
      const word = typeof raw === "string" ? raw.trim().toLowerCase() : "";
      if (word === "true" || word === "1") return true;
      if (word === "false" || word === "0") return false;
      throw refuse("true or false");
    }
    case "list": {
      const items = typeof raw === "string" ? raw.split(",").map((item) => item.trim()) : raw;
      if (!Array.isArray(items) || items.some((item) => typeof item !== "string")) {
        throw refuse("a comma-separated list, or an array of text in the file");
      }
      const given = (items as string[]).filter((item) => item !== "");
      const { form } = setting;
      if (form !== undefined && !given.every(form.fits)) throw refuse(form.allowed);
      return given;
    }
    case "choice": {
      const word = typeof raw === "string" ? raw.trim().toLowerCase() : "";
      const found = setting.choices!.find((choice) => choice.toLowerCase() === word);
      if (found === undefined) throw refuse(setting.choices!.join(", "));
      return found;
    }
  }
}

/** The value as a person may see it: no passwords. */
export function shownValue(name: SettingName, value: unknown): string {
  const { secret } = settings[name] as Setting<unknown>;
  const plain = Array.isArray(value) ? value.join(",") : String(value);
  if (plain === "" || secret === undefined) return plain;
  return secret === "url" ? maskUrl(plain) : "***";
}

/** `postgres://user:pass@host/db?password=x` → the same without either password. */
export function maskUrl(url: string): string {
  return url
    .replace(/^(\w+:\/\/[^:/@]*):.*@/, "$1:***@")
    .replaceAll(/([?&](?:password|sslpassword|token)=)[^&]*/gi, "$1***");
}
