/** Wires the script host to the definitions: helpers and whole mappings are components too. */
import type { Component } from "../engine/component.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import { readScriptCode } from "../engine/definition/script-code.ts";
import { createSecretMask } from "../engine/mask-secrets.ts";
import type { FindMapping, MappingSource } from "../scripting/resolve-script.ts";
import { createSandboxHost } from "../scripting/sandbox-host.ts";
import type { ScriptHost, ScriptLogLine } from "../scripting/script-host.ts";
import { createSandbox } from "../scripting/worker/create-sandbox.ts";
import type { Catalogue } from "./catalogue.ts";

export interface ScriptOptions {
  /** What scripts may read of the configuration, and of secrets. */
  config: Readonly<Record<string, string>>;
  secrets: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;
  limits: { timeMs: number; memoryBytes: number };
  onLog: (line: ScriptLogLine) => void;
}

export function openScripts(catalogue: Catalogue, options: ScriptOptions): ScriptHost {
  const { config, secrets, limits, onLog } = options;
  return createSandboxHost({
    sandbox: createSandbox({ limits }),
    findMapping: findMappingIn(catalogue),
    config,
    secrets,
    mask: createSecretMask(secretValues(secrets)).text,
    onLog,
    now: () => new Date(),
  });
}

const secretValues = (secrets: ScriptOptions["secrets"]): string[] =>
  Object.values(secrets).flatMap((store) =>
    Object.values(store).flatMap((secret) => Object.values(secret)),
  );

const findMappingIn =
  (catalogue: Catalogue): FindMapping =>
  async (reference) => {
    const { domain, key, version } = reference;
    const found = await catalogue.find({ domain, kind: ComponentKind.mapping, key }, version);
    return found === undefined ? undefined : catalogue.compiled(found, toMappingSource);
  };

function toMappingSource({ key, domain, attributes }: Component): MappingSource {
  const script = readScriptCode(attributes, { domain });
  const { name, location } = attributes;
  return {
    name: typeof name === "string" ? name : key,
    code: script?.code ?? "",
    location: typeof location === "string" && location.trim() !== "" ? location : key,
    language: script?.language,
  };
}
