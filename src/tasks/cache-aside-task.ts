/**
 * Task type 18: the answer of another task, from a state store as long as it is there. A miss asks
 * the source task and stores what it answers, unless that is a failure.
 */
import { ComponentKind } from "../engine/component-kind.ts";
import { taskType } from "../engine/definition/enumerations.ts";
import { asText } from "../engine/definition/json.ts";
import { readReference } from "../engine/definition/reference.ts";
import { readScriptCode } from "../engine/definition/script-code.ts";
import { isJsonObject, type JsonValue } from "../engine/exact-json.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import { StateStoreFailed, type StateEntry, type Written } from "../storage/state-store.ts";
import { configOf } from "./run-mapped-task.ts";
import {
  accessState,
  consistencyOf,
  troubleAnswer,
  ttlOf,
  type StateAccess,
} from "./state-access.ts";
import type { MappedTaskType, TaskAnswer, TaskCall, TaskPorts } from "./task-type.ts";

const name = "CacheAside";

export const cacheAsideTask: MappedTaskType = {
  code: "18",
  name,
  stamp: "cacheaside",
  // A miss runs another task, which may do anything.
  isEffectful: () => true,
  invoke,
};

async function invoke(ports: TaskPorts, call: TaskCall): Promise<TaskAnswer> {
  const { config } = call;
  const access = accessState(ports, call, name);
  const key = await keyOf(ports, access, call);
  const ttlSeconds = ttlOf(access, config["ttlInSeconds"]);
  const cache = { ...call, access, key, owned: access.ownKey(key), ttlSeconds };

  const found = config["forceRefresh"] === true ? undefined : await read(cache);
  if (found instanceof StateStoreFailed && !mayBypass(cache)) return cacheFailed(cache, found);
  if (found !== undefined && !(found instanceof StateStoreFailed)) {
    return answerOf(cache, found.value, { CacheHit: true, Refreshed: false, ...etagOf(found) });
  }

  const outcome = await askSource(ports, cache);
  if (outcome.failure !== undefined) return sourceFailed(cache, outcome.failure);
  const value = valueOf(outcome);
  // A cache that cannot be read is not asked to write: it would only cost its timeout once more.
  const written = found === undefined ? await write(cache, value) : found;
  if (!(written instanceof StateStoreFailed)) {
    return answerOf(cache, value, { CacheHit: false, Refreshed: true, ...etagOf(written) });
  }
  if (!mayBypass(cache)) return cacheFailed(cache, written);
  return answerOf(cache, value, {
    CacheHit: false,
    Refreshed: false,
    CacheError: written.message,
  });
}

interface Cache extends TaskCall {
  readonly access: StateAccess;
  /** As the author knows it. */
  readonly key: string;
  readonly owned: string;
  readonly ttlSeconds: number | undefined;
}

const mayBypass = ({ config }: Cache) => config["bypassOnCacheError"] !== false;

/**
 * A key that the input handler set counts before all; then what the key's script or expression
 * yields, unless that is nothing; then the configured text.
 */
async function keyOf(
  { scripts }: TaskPorts,
  access: StateAccess,
  { config, invocation }: TaskCall,
): Promise<string> {
  const configured = asText(config["key"]) ?? "";
  const isSetByHandler = configured !== "" && configured !== configOf(invocation)["key"];
  if (isSetByHandler) return configured;
  for (const member of ["keyExpression", "key"]) {
    const script = readScriptCode(configOf(invocation)[member], invocation.definition);
    if (script === undefined) continue;
    const { value } = await scripts.run("cacheKey", invocation.request(script));
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  if (configured.trim() !== "") return configured;
  throw access.refuse(
    "it has no cache key. Give 'key' or 'keyExpression', or set it with SetCacheKey.",
  );
}

const read = ({ access, owned, config, signal }: Cache) =>
  orTrouble<StateEntry | undefined>(() =>
    access.store.get(owned, { consistency: consistencyOf(config), signal }),
  );

async function write(cache: Cache, value: JsonValue): Promise<Written | StateStoreFailed> {
  const { access, owned, ttlSeconds, config, signal, executionKey } = cache;
  return orTrouble(async () => {
    try {
      access.checkValue(value);
    } catch (cause) {
      if (!(cause instanceof StepFailed)) throw cause;
      throw new StateStoreFailed("refused", cause.message, { cause });
    }
    const written = await access.store.set(owned, value, {
      ttlSeconds,
      consistency: consistencyOf(config),
      writer: executionKey,
      signal,
    });
    return written === "conflict" ? { etag: undefined } : written;
  });
}

/** The database as a cache may be away like any other; whether the run can go on shows elsewhere. */
async function orTrouble<T>(work: () => Promise<T>): Promise<T | StateStoreFailed> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StateStoreFailed) return error;
    if (!(error instanceof StorageUnavailable)) throw error;
    return new StateStoreFailed("unavailable", error.message, { cause: error });
  }
}

async function askSource(
  ports: TaskPorts,
  { access, config, invocation }: Cache,
): Promise<TaskOutcome> {
  const owner = invocation.definition;
  const reference = readReference(config["sourceTask"], owner, ComponentKind.task);
  if (reference === undefined) throw access.refuse("'sourceTask' is missing.");
  const definition = await ports.loadTask(reference);
  if (taskType.read(definition.attributes["type"]) === "cacheAside") {
    throw access.refuse(
      `its source '${definition.key}' is a cache too (type 18). Name the task that has the answer.`,
    );
  }
  const mapping = readScriptCode(config["sourceMapping"], owner);
  const suffix = ":source";
  const work = () =>
    ports.runTask({
      ...invocation,
      once: undefined,
      definition,
      binding: { mapping },
      executionKey: `${invocation.executionKey}${suffix}`,
    });
  if (invocation.once === undefined || !ports.isEffectful(definition, mapping)) return work();
  return invocation.once({ suffix, taskKey: definition.key }, work);
}

/** As the source's output handler shaped it; without one, the answer's data. */
function valueOf({ data, response }: TaskOutcome): JsonValue {
  if (data !== undefined) return data;
  return isJsonObject(response) ? (response["data"] ?? null) : null;
}

const etagOf = (entry: { etag: string | undefined }) =>
  entry.etag === undefined ? {} : { ETag: entry.etag };

const placeOf = ({ key, access }: Cache) => ({ Key: key, StoreName: access.storeName });

const answerOf = (
  cache: Cache,
  data: JsonValue,
  metadata: Readonly<Record<string, JsonValue>>,
): TaskAnswer => ({
  data,
  statusCode: 200,
  isSuccess: true,
  metadata: { ...metadata, ...placeOf(cache) },
});

const cacheFailed = (cache: Cache, error: StateStoreFailed): TaskAnswer =>
  troubleAnswer(error, { CacheHit: false, Refreshed: false, ...placeOf(cache) });

/** The source's own failure, under this task's name. */
const sourceFailed = (
  cache: Cache,
  { statusCode, message, errorType, retryable }: NonNullable<TaskOutcome["failure"]>,
): TaskAnswer => ({
  data: undefined,
  statusCode,
  isSuccess: false,
  errorMessage: message,
  metadata: { CacheHit: false, Refreshed: false, ...placeOf(cache) },
  errorType,
  retryable,
});
