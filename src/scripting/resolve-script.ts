/**
 * From a script slot to what the sandbox runs: the code itself or that of the mapping it refers to,
 * in JavaScript, with the helpers of the slot and of its owner.
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Reference } from "../engine/definition/reference.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import { languageNames, type ScriptLanguage } from "./language/detect-language.ts";
import { toModule, type ScriptModule } from "./language/to-module.ts";
import { ScriptSyntaxError, type SandboxHelper, type SandboxScript } from "./sandbox.ts";

interface ModuleText {
  readonly code: string;
  readonly location: string;
  readonly language?: string | undefined;
}

/** A `sys-mappings` component: a helper, or a whole mapping. */
export interface MappingSource extends ModuleText {
  readonly name: string;
}

/** A helper or mapping that is referred to and is not published (yet), or cannot be used (yet). */
export class UnresolvedMapping extends ScriptSyntaxError {}

/** Undefined when no such component is published. The same object for as long as it is the same. */
export type FindMapping = (reference: Reference) => Promise<MappingSource | undefined>;

export interface ResolvedScript {
  readonly language: ScriptLanguage;
  /** Absent for languages that the sandbox does not run. */
  readonly sandbox: SandboxScript | undefined;
  readonly code: string;
  readonly location: string;
  readonly warnings: readonly string[];
}

/** Throws `ScriptSyntaxError`. */
export type ResolveScript = (
  script: ScriptCode,
  owner: readonly Reference[],
) => Promise<ResolvedScript>;

export function createScriptResolver(findMapping: FindMapping): ResolveScript {
  const modules = new LRUCache<string, ScriptModule>({ max: 5000 });
  const toKnownModule = ({ code, location, language }: ModuleText): ScriptModule => {
    const id = `${language ?? ""}\n${location}\n${code}`;
    let made = modules.get(id);
    if (made === undefined) modules.set(id, (made = toModule(code, { location, language })));
    return made;
  };

  // A definition's script is one object for as long as the definition is kept, so what was made of
  // it is found by it. References may name a range of versions: they are looked up each time.
  const known = new WeakMap<ModuleText, { helpers: MappingSource[]; resolved: ResolvedScript }>();

  const need = async (
    reference: Reference,
    what: string,
    consumer: ScriptCode,
  ): Promise<MappingSource> => {
    const found = await findMapping(reference);
    if (found !== undefined) return found;
    const { domain, flow, key, version } = reference;
    throw new UnresolvedMapping(
      `${what} component could not be resolved: ${domain}/${flow}/${key}/${version}. Publish it first.`,
      consumer.location,
    );
  };

  const toHelper = (helper: MappingSource, consumer: ScriptCode): SandboxHelper => {
    const { name } = helper;
    const { language, source } = toKnownModule(helper);
    if (source !== undefined) return { name, source };
    throw new UnresolvedMapping(
      `The helper '${name}' is written in ${languageNames[language]}, which a script cannot use. Write it in TypeScript.`,
      consumer.location,
    );
  };

  return async (script, owner) => {
    const body =
      script.ref === undefined ? script : await need(script.ref, "Referenced mapping", script);
    const { code, location } = body;
    const { language, source, warnings } = toKnownModule(body);
    const plain = { language, sandbox: undefined, code, location, warnings };
    // Only the sandbox has helpers.
    if (source === undefined) return plain;
    const found: MappingSource[] = [];
    for (const reference of union(owner, script.helpers)) {
      found.push(await need(reference, "Helper", script));
    }
    const before = known.get(body);
    if (before !== undefined && isSame(before.helpers, found)) return before.resolved;
    const helpers = found.map((helper) => toHelper(helper, script));
    const id = contentHash(source, location, helpers);
    const resolved = { ...plain, sandbox: { id, source, name: location, helpers } };
    known.set(body, { helpers: found, resolved });
    return resolved;
  };
}

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i]);

/** In declared order, each once. */
function union(a: readonly Reference[], b: readonly Reference[]): Reference[] {
  const byId = new Map<string, Reference>();
  for (const reference of [...a, ...b]) {
    const { domain, key, version } = reference;
    byId.set(`${domain}/${key}/${version}`, reference);
  }
  return [...byId.values()];
}

function contentHash(source: string, name: string, helpers: readonly SandboxHelper[]): string {
  const hash = createHash("sha256");
  for (const part of [source, name, ...helpers.flatMap((h) => [h.name, h.source])]) {
    hash.update(`${part.length}:`).update(part);
  }
  return hash.digest("hex");
}
