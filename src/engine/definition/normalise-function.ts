/** From a published function to what is run, offered and explained. */
import type { Component } from "../component.ts";
import {
  functionScope,
  functionVerb,
  type FunctionScope,
  type FunctionVerb,
} from "./enumerations.ts";
import { asList, asObject, asText, type JsonObject } from "./json.ts";
import type { RoleGrant, SchemaEntry, TaskGroup, ViewEntry } from "./model.ts";
import {
  asNumber,
  normaliseRoles,
  normaliseSchemas,
  normaliseTasks,
  normaliseViews,
  type Owner,
} from "./normalise-parts.ts";
import type { Reference } from "./reference.ts";
import { readHelpers, readScriptCode, type ScriptCode } from "./script-code.ts";

export interface FunctionDefinition {
  readonly key: string;
  readonly domain: string;
  readonly version: string;
  readonly scope: FunctionScope;
  readonly tasks: readonly TaskGroup[];
  readonly output: ScriptCode | undefined;
  readonly rawResponse: boolean;
  readonly roles: readonly RoleGrant[];
  /** Empty: all of them. */
  readonly verbs: readonly FunctionVerb[];
  readonly schemas: Readonly<Record<FunctionTarget, readonly SchemaEntry[]>>;
  readonly views: Readonly<Record<FunctionTarget, readonly ViewEntry[]>>;
  readonly cache: FunctionCache | undefined;
  readonly helpers: readonly Reference[];
}

/** Which side of a function a view or a schema is for. */
export type FunctionTarget = "input" | "output";

export interface FunctionCache {
  readonly key: CacheKey;
  /** Names an entry whose value is part of the key: to change it is to forget all answers. */
  readonly generation: CacheKey;
  readonly storeName: string | undefined;
  readonly ttlSeconds: number | undefined;
  readonly consistency: "eventual" | "strong";
  readonly bypassOnError: boolean;
  /** Lower case. */
  readonly varyByHeaders: readonly string[];
  readonly varyByHeaderPrefixes: readonly string[];
}

/** What a script yields counts before the text beside it. */
export interface CacheKey {
  readonly scripts: readonly ScriptCode[];
  readonly text: string | undefined;
}

export function normaliseFunction({
  key,
  domain,
  version,
  attributes,
}: Pick<Component, "key" | "domain" | "version" | "attributes">): FunctionDefinition {
  const owner = { domain };
  const many = asList(attributes["onExecutionTasks"]);
  const output = readScriptCode(attributes["output"], owner);
  return {
    key,
    domain,
    version,
    scope: functionScope.read(attributes["scope"]) ?? "domain",
    tasks: normaliseTasks(many.length > 0 ? many : [attributes["task"]], owner),
    output: output?.type === "global" ? undefined : output,
    rawResponse: attributes["rawResponse"] === true,
    roles: normaliseRoles(attributes["roles"]),
    verbs: asList(attributes["verbs"]).flatMap((verb) => functionVerb.read(verb) ?? []),
    schemas: {
      input: normaliseSchemas(attributes["inputSchema"], owner),
      output: normaliseSchemas(attributes["outputSchema"], owner),
    },
    views: {
      input: normaliseViews({ view: attributes["inputView"] }, owner),
      output: normaliseViews({ view: attributes["outputView"] }, owner),
    },
    cache: normaliseCache(asObject(attributes["cache"]), owner),
    helpers: readHelpers(attributes["scripts"], owner),
  };
}

function normaliseCache(cache: JsonObject | undefined, owner: Owner): FunctionCache | undefined {
  if (cache === undefined) return undefined;
  const ttl = asNumber(cache["ttlInSeconds"]) ?? 0;
  return {
    key: cacheKey(cache, "key", owner),
    generation: cacheKey(cache, "generationKey", owner),
    storeName: asText(cache["storeName"]),
    ttlSeconds: ttl > 0 ? ttl : undefined,
    consistency: asText(cache["consistency"])?.toLowerCase() === "strong" ? "strong" : "eventual",
    bypassOnError: cache["bypassOnCacheError"] !== false,
    varyByHeaders: lowerCase(cache["varyByHeaders"]),
    varyByHeaderPrefixes: lowerCase(cache["varyByHeaderPrefixes"]),
  };
}

const cacheKey = (cache: JsonObject, member: string, owner: Owner): CacheKey => ({
  scripts: [cache[`${member}Expression`], cache[member]].flatMap(
    (script) => readScriptCode(script, owner) ?? [],
  ),
  text: asText(cache[member]),
});

const lowerCase = (names: unknown): readonly string[] =>
  asList(names).flatMap((name) => (typeof name === "string" ? [name.toLowerCase()] : []));
