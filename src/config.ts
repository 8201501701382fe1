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
import { StartRefusal } from "./engine/start-refusal.ts";
import { type Setting, settings, type SettingName, type Config } from "./settings.ts";

export { settings, type Config, type SettingName };

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
  if (secret === "webAddresses") return maskWebAddresses(plain);
  if (secret !== "url") return "***";
  return Array.isArray(value) ? value.map(String).map(maskUrl).join(",") : maskUrl(plain);
}

/** `sms=webhook:https://user:pass@host/path?key=x` → `sms=webhook:https://host/***`. */
const maskWebAddresses = (text: string): string =>
  text.replaceAll(/(https?:\/\/)(?:[^/?#@,\s]*@)?([^/?#,\s]+)[^,\s]*/gi, "$1$2/***");

/** `postgres://user:pass@host/db?password=x` → the same without either password; also behind `name=`. */
export function maskUrl(url: string): string {
  return url
    .replace(/^((?:[^=/]*=)?\w+:\/\/[^:/@]*):.*@/, "$1:***@")
    .replaceAll(/([?&](?:password|sslpassword|token)=)[^&]*/gi, "$1***");
}

/** Values that must never be written, whatever field they turn up in. */
export function secretValues(config: Config): string[] {
  return names.flatMap((name) => {
    const { secret } = settings[name] as Setting<unknown>;
    if (secret === undefined) return [];
    const texts = [config[name]].flat().map(String);
    return (secret === "whole" ? texts : texts.flatMap(passwordsIn)).filter((it) => it !== "");
  });
}

/** Of an address, also behind `name=`; as written and as meant. */
function passwordsIn(text: string): string[] {
  const address = text.slice(Math.max(text.search(/[a-z][a-z0-9+.-]*:\/\//i), 0));
  if (!URL.canParse(address)) return [];
  const { password, searchParams } = new URL(address);
  return [password, decoded(password), searchParams.get("password") ?? ""];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray percent sign stands for itself
  }
}
