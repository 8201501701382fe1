/**
 * From a script slot to what the sandbox runs: the code itself or that of the mapping it refers to,
 * in JavaScript, with the helpers of the slot and of its owner.
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Reference } from "../engine/definition/reference.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { ScriptLanguage } from "./language/detect-language.ts";
import { toModule } from "./language/to-module.ts";
import { ScriptSyntaxError, type SandboxHelper, type SandboxScript } from "./sandbox.ts";

/** A `sys-mappings` component: a helper, or a whole mapping. */
export interface MappingSource {
  readonly name: string;
  readonly code: string;
  readonly location: string;
}

/** A helper or mapping that is referred to and not published (yet). */
export class UnresolvedMapping extends ScriptSyntaxError {}

/** Undefined when no such component is published. */
export type FindMapping = (reference: Reference) => Promise<MappingSource | undefined>;

export interface ResolvedScript {
  readonly language: ScriptLanguage;
  /** Absent for languages that the sandbox does not run. */
  readonly sandbox: SandboxScript | undefined;
  readonly code: string;
  readonly location: string;
  readonly warnings: readonly string[];
}

export function createScriptResolver(findMapping: FindMapping) {
  const modules = new LRUCache<string, ReturnType<typeof toModule>>({ max: 5000 });
  const module = (code: string, location: string) => {
    const id = `${location}\n${code}`;
    let made = modules.get(id);
    if (made === undefined) modules.set(id, (made = toModule(code, { location })));
    return made;
  };

  const need = async (reference: Reference, what: string): Promise<MappingSource> => {
    const found = await findMapping(reference);
    if (found !== undefined) return found;
    const { domain, flow, key, version } = reference;
    throw new UnresolvedMapping(
      `${what} component could not be resolved: ${domain}/${flow}/${key}/${version}. Publish it first.`,
      key,
    );
  };

  const helperOf = async (reference: Reference): Promise<SandboxHelper> => {
    const { name, code, location } = await need(reference, "Helper");
    const { language, source } = module(code, location);
    if (source !== undefined) return { name, source };
    throw new ScriptSyntaxError(
      `The helper '${name}' is written in ${language}, which a script cannot use here.`,
      location,
    );
  };

  /** Throws `ScriptSyntaxError`. */
  return async (script: ScriptCode, owner: readonly Reference[]): Promise<ResolvedScript> => {
    const { code, location } =
      script.ref === undefined ? script : await need(script.ref, "Referenced mapping");
    const { language, source, warnings } = module(code, location);
    if (source === undefined) return { language, sandbox: undefined, code, location, warnings };
    const helpers: SandboxHelper[] = [];
    for (const reference of union(owner, script.helpers)) helpers.push(await helperOf(reference));
    const id = contentHash(source, location, helpers);
    const sandbox = { id, source, name: location, helpers };
    return { language, sandbox, code, location, warnings };
  };
}

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
