/**
 * A task as an input handler gets it: a private copy of the definition, typed by its code. Reading a
 * property reads the config; a mutator writes to it. What the handler leaves behind is what runs.
 */
import type { TaskDefinition } from "../../contract.ts";
import type { Dynamic } from "../dynamic.ts";
import { toJson } from "../json.ts";

type Config = Record<string, unknown>;

const configs = new WeakMap<WorkflowTask, Config>();

/** Every task; also the class of a code that nothing more is known about. */
export class WorkflowTask {
  readonly Key: string;
  readonly Domain: string;
  readonly Version: string;
  readonly Flow: string;
  /** The code, as text: "6" is an HTTP call. */
  readonly Type: string;

  constructor(definition: Partial<TaskDefinition> = {}) {
    this.Key = definition.key ?? "";
    this.Domain = definition.domain ?? "";
    this.Version = definition.version ?? "";
    this.Flow = definition.flow ?? "sys-tasks";
    this.Type = definition.type ?? "";
    configs.set(this, { ...definition.config });
  }

  /** The configuration as it is now; a copy. */
  get Config(): Dynamic {
    return toJson(configOf(this));
  }
}

export function configOf(task: WorkflowTask): Config {
  const config = configs.get(task);
  if (config === undefined) throw new TypeError("Not a task.");
  return config;
}

export const read = <Value>(task: WorkflowTask, name: string, otherwise: Value): Value =>
  (configOf(task)[name] as Value | null | undefined) ?? otherwise;

export function write(task: WorkflowTask, name: string, value: unknown): void {
  configOf(task)[name] = value ?? null;
}

/** Names as written, nulls kept; a later change of the script's object changes nothing. */
export function writeJson(task: WorkflowTask, name: string, value: unknown): void {
  configOf(task)[name] = toJson(value);
}

/** A list of texts without blanks; null when nothing is left. */
export function readTexts(task: WorkflowTask, name: string): string[] | null {
  const value = configOf(task)[name];
  if (!Array.isArray(value)) return null;
  const texts = value.filter((item) => typeof item === "string" && item.trim() !== "");
  return texts.length > 0 ? (texts as string[]) : null;
}
