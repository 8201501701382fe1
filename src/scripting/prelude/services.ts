/**
 * What the host lends to one script object: configuration, secrets and the log. Handed over after
 * the object is made, so a constructor sees none of it.
 */
import type { ScriptCall } from "../contract.ts";
import { ScriptLog } from "./log.ts";

export interface ScriptServices {
  readonly log: ScriptLog;
  readonly config: NonNullable<ScriptCall["config"]>;
  readonly secrets: NonNullable<ScriptCall["secrets"]>;
}

const lent = new WeakMap<object, ScriptServices>();

export function createServices({ config, secrets }: Pick<ScriptCall, "config" | "secrets">) {
  return { log: new ScriptLog(), config: config ?? {}, secrets: secrets ?? {} };
}

export function lendServices(script: object, services: ScriptServices): void {
  lent.set(script, services);
}

export const servicesOf = (script: object): ScriptServices | undefined => lent.get(script);
