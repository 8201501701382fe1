/**
 * Answers that a function keeps for a while. The key is the author's; version, verb, instance and the
 * headers it varies by are added to it, so that nobody gets what was made for somewhere else.
 */
import { createHash } from "node:crypto";
import type {
  CacheKey,
  FunctionCache,
  FunctionDefinition,
} from "../engine/definition/normalise-function.ts";
import { isJsonObject, stringifyJson, type JsonValue } from "../engine/exact-json.ts";
import { problems } from "../engine/problems.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { CacheTrouble, type CachePlace } from "../runtime/answer-cache.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { scriptOf } from "../runtime/run-read-tasks.ts";
import type { FunctionAnswer } from "./function-answer.ts";
import { readingOfCall, type FunctionCall } from "./function-call.ts";

export async function fromCacheOr(
  ports: FunctionPorts,
  definition: FunctionDefinition,
  call: FunctionCall,
  run: () => Promise<FunctionAnswer>,
): Promise<FunctionAnswer> {
  const { cache, key } = definition;
  if (cache === undefined) return run();
  const orWithout = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof CacheTrouble || error instanceof StepFailed)) throw error;
      if (!cache.bypassOnError) {
        throw problems.functionFailed(
          { key, reason: error.message },
          { target: key, cause: error },
        );
      }
      ports.onTrouble("FunctionCacheFailed", error);
      return undefined;
    }
  };
  const place = await orWithout(() => placeOf(ports, definition, cache, call));
  if (place === undefined) return run();
  const kept = answerIn(await orWithout(() => ports.cache.read(place)));
  if (kept !== undefined) return kept;
  const answer = await run();
  if (answer.statusCode < 300) {
    const value = { ...answer, body: answer.body ?? null };
    await orWithout(() => ports.cache.keep(place, value, cache.ttlSeconds));
  }
  return answer;
}

/** Undefined: the author's script names no key, so this answer is not for keeping. */
async function placeOf(
  ports: FunctionPorts,
  definition: FunctionDefinition,
  cache: FunctionCache,
  call: FunctionCall,
): Promise<CachePlace | undefined> {
  const key = await keyOf(ports, definition, cache.key, call);
  if (key === undefined) return undefined;
  const { storeName, consistency } = cache;
  const at = { storeName, consistency, signal: call.asker.signal };
  const generationKey = await keyOf(ports, definition, cache.generation, call);
  const generation =
    generationKey === undefined
      ? null
      : ((await ports.cache.readOfTasks({ ...at, key: generationKey })) ?? null);
  const parts = {
    key,
    generation,
    verb: call.verb,
    instance: call.place.instance?.id ?? null,
    headers: variedBy(cache, call.asker.headers),
  };
  const hash = createHash("sha256").update(stringifyJson(parts)).digest("hex");
  return { ...at, key: `${definition.domain}/${definition.key}@${definition.version}:${hash}` };
}

async function keyOf(
  { scripts }: FunctionPorts,
  definition: FunctionDefinition,
  { scripts: candidates, text }: CacheKey,
  call: FunctionCall,
): Promise<string | undefined> {
  const reading = readingOfCall(definition, call);
  for (const script of candidates) {
    const asked = scriptOf(reading, definition.helpers, script);
    const { value } = await scripts.run("cacheKey", asked);
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return text === undefined || text.trim() === "" ? undefined : text;
}

const variedBy = (
  { varyByHeaders, varyByHeaderPrefixes }: FunctionCache,
  headers: Readonly<Record<string, string>>,
): [string, string][] =>
  Object.entries(headers)
    .filter(
      ([name]) =>
        varyByHeaders.includes(name) ||
        varyByHeaderPrefixes.some((prefix) => name.startsWith(prefix)),
    )
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

function answerIn(value: JsonValue | undefined): FunctionAnswer | undefined {
  if (!isJsonObject(value)) return undefined;
  // What was put there was an answer.
  const { body, ...kept } = value as unknown as FunctionAnswer;
  return { ...kept, body: body ?? undefined };
}
