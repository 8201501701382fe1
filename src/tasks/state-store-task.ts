/** Task type 17: reads, writes and deletes entries of a state store. */
import type { Component } from "../engine/component.ts";
import { asList, asObject, asText, isPresent } from "../engine/definition/json.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import {
  isJsonObject,
  jsonEquals,
  parseJson,
  toPlain,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import { readStateQuery, StateQueryError, type StateFilter } from "../storage/state-filter.ts";
import {
  accessState,
  consistencyOf,
  ownPrefix,
  troubleAnswer,
  ttlOf,
  type StateAccess,
} from "./state-access.ts";
import type { MappedTaskType, TaskAnswer, TaskCall, TaskConfig, TaskPorts } from "./task-type.ts";

const name = "StateStore";

export const stateStoreTask: MappedTaskType = {
  code: "17",
  name,
  stamp: "statestore",
  isEffectful: (definition, mapping) => !onlyReads(definition, mapping),
  invoke,
};

/**
 * A `get` that no script turns into something else: it is repeated after a crash without harm, so
 * nothing has to be on disk before it.
 */
function onlyReads({ attributes }: Component, mapping: ScriptCode | undefined): boolean {
  const config = asObject(attributes["config"]);
  if (commandIn(config ?? {}) !== "get") return false;
  if (mapping === undefined || mapping.type === "global") return true;
  return mapping.ref === undefined && !mapping.code.includes("SetCommand");
}

const commandIn = (config: TaskConfig) => asText(config["command"])?.toLowerCase();

type Metadata = Readonly<Record<string, JsonValue>>;
type Place = Readonly<{ Key: string; StoreName: string }>;

async function invoke(ports: TaskPorts, call: TaskCall): Promise<TaskAnswer> {
  const { config } = call;
  const access = accessState(ports, call, name);
  const command = commandIn(config);
  refuseHiddenCommand(access, call, command);
  switch (command) {
    case "get":
      return get(access, call);
    case "set":
      return set(access, call);
    case "delete":
      return remove(access, call);
    default:
      throw access.refuse(`'command' is '${command ?? ""}'; it is get, set or delete.`);
  }
}

/** What was taken for a read has no checkpoint under it, so nothing may be written. */
function refuseHiddenCommand(
  access: StateAccess,
  { invocation: { definition, binding } }: TaskCall,
  command: string | undefined,
): void {
  if (command === "get" || !onlyReads(definition, binding.mapping)) return;
  throw access.refuse(
    `its command was changed from get to ${command} by a helper. Call SetCommand in the mapping itself, or configure the command.`,
  );
}

async function get(access: StateAccess, { config, signal }: TaskCall): Promise<TaskAnswer> {
  const key = access.ownKey(config["key"]);
  const place = placeOf(access, config);
  return answered(place, async () => {
    const entry = await access.store.get(key, { consistency: consistencyOf(config), signal });
    return done(entry?.value, { Found: entry !== undefined, ...place, ...etagOf(entry) });
  });
}

async function set(access: StateAccess, call: TaskCall): Promise<TaskAnswer> {
  const { config, signal, executionKey } = call;
  const key = access.ownKey(config["key"]);
  const value = valueOf(access, call);
  const place = placeOf(access, config);
  const { etag, isFirstWrite } = concurrencyOf(config);
  const metadata = metadataOf(config);
  return answered(place, async () => {
    const written = await access.store.set(key, value, {
      ttlSeconds: ttlOf(access, config["ttlInSeconds"] ?? metadata?.["ttlInSeconds"]),
      when: !isFirstWrite ? "always" : etag === undefined ? "absent" : { etag },
      consistency: consistencyOf(config),
      writer: executionKey,
      metadata,
      signal,
    });
    if (written === "conflict") return conflict(place, etag);
    return done(undefined, { ...place, ...etagOf(written) });
  });
}

async function remove(access: StateAccess, call: TaskCall): Promise<TaskAnswer> {
  const { config } = call;
  const given = ["key", "keys", "query"].filter((member) => isGiven(config[member]));
  if (given.length > 1) {
    throw access.refuse(
      `a delete takes exactly one of key, keys and query; it has ${given.join(" and ")}.`,
    );
  }
  const [by = Array.isArray(config["keys"]) ? "keys" : "key"] = given;
  if (by === "key") return removeOne(access, call);
  if (concurrencyOf(config).isFirstWrite) {
    throw access.refuse(
      `FirstWrite needs an etag, and '${by}' has none. Delete one key, or use LastWrite.`,
    );
  }
  return by === "keys" ? removeKeys(access, call) : removeMatching(access, call);
}

/** Definitions fill in every member: a blank text and an empty list stand for nothing. */
const isGiven = (value: unknown): boolean =>
  isPresent(value) && value !== "" && !(Array.isArray(value) && value.length === 0);

async function removeOne(access: StateAccess, { config, signal }: TaskCall): Promise<TaskAnswer> {
  const key = access.ownKey(config["key"]);
  const place = placeOf(access, config);
  const { etag, isFirstWrite } = concurrencyOf(config);
  const options = { consistency: consistencyOf(config), metadata: metadataOf(config), signal };
  return answered(place, async () => {
    if (isFirstWrite && etag === undefined) {
      const isThere = (await access.store.get(key, options)) !== undefined;
      return isThere ? conflict(place, etag) : done(undefined, place);
    }
    const when = etag !== undefined && isFirstWrite ? { etag } : "always";
    const deleted = await access.store.delete(key, { ...options, when });
    return deleted === "conflict" ? conflict(place, etag) : done(undefined, place);
  });
}

async function removeKeys(access: StateAccess, { config, signal }: TaskCall): Promise<TaskAnswer> {
  const keys = asList(config["keys"]);
  if (keys.length === 0) throw access.refuse("'keys' is empty; name at least one key.");
  const owned = [...new Set(keys.map((key) => access.ownKey(key)))];
  const place = { Keys: keys as string[], StoreName: access.storeName };
  return answered(place, async () => {
    await access.store.deleteMany(owned, { consistency: consistencyOf(config), signal });
    return done(undefined, place);
  });
}

async function removeMatching(access: StateAccess, call: TaskCall): Promise<TaskAnswer> {
  const { config, signal } = call;
  const filter = filterOf(access, config);
  const place = { StoreName: access.storeName };
  return answered(place, async () => {
    const options = { consistency: consistencyOf(config), signal };
    const deleted = await access.store.deleteMatching(ownPrefix, filter, options);
    return done(undefined, { ...place, Deleted: deleted });
  });
}

function filterOf(access: StateAccess, config: TaskConfig): StateFilter {
  const query = config["query"] as JsonValue;
  if (!isJsonObject(query)) throw access.refuse("'query' is no object with a 'filter'.");
  try {
    return readStateQuery(query);
  } catch (error) {
    if (error instanceof StateQueryError) throw access.refuse(error.message);
    throw error;
  }
}

/** Without a word about it: FirstWrite when there is an etag to compare, else LastWrite. */
function concurrencyOf(config: TaskConfig): { etag: string | undefined; isFirstWrite: boolean } {
  const etag = asText(config["etag"]) || undefined;
  const mode = asText(config["concurrency"])?.toLowerCase() ?? "";
  return { etag, isFirstWrite: mode === "" ? etag !== undefined : mode === "firstwrite" };
}

/**
 * Null is a value like any other, an absent one is a mistake. The config was read with doubles;
 * what comes from the definition itself is taken from its text, with its numbers as written.
 */
function valueOf(access: StateAccess, { config, invocation }: TaskCall): JsonValue {
  if (config["value"] === undefined) {
    throw access.refuse("'value' is missing. Give it in the config, or set it with SetValue.");
  }
  const value = config["value"] as JsonValue;
  const attributes = parseJson(invocation.definition.attributesText) as JsonObject;
  const written = isJsonObject(attributes["config"]) ? attributes["config"]["value"] : undefined;
  const isWritten = written !== undefined && jsonEquals(toPlain(written), value);
  const exact = isWritten ? written : value;
  access.checkValue(exact);
  return exact;
}

function metadataOf(config: TaskConfig): Record<string, string> | undefined {
  const metadata = asObject(config["metadata"]);
  if (metadata === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([member, value]) =>
      isScalar(value) ? [[member, String(value)]] : [],
    ),
  );
}

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

/** As the author knows them: the prefix is the store's affair. */
const placeOf = ({ storeName }: StateAccess, config: TaskConfig): Place => ({
  Key: config["key"] as string,
  StoreName: storeName,
});

const etagOf = (entry: { etag: string | undefined } | undefined): Metadata =>
  entry?.etag === undefined ? {} : { ETag: entry.etag };

const done = (data: JsonValue | undefined, metadata: Metadata): TaskAnswer => ({
  data,
  statusCode: 200,
  isSuccess: true,
  metadata,
});

async function answered(place: Metadata, work: () => Promise<TaskAnswer>): Promise<TaskAnswer> {
  try {
    return await work();
  } catch (error) {
    return troubleAnswer(error, place);
  }
}

const conflict = (place: Place, etag: string | undefined): TaskAnswer => ({
  data: undefined,
  statusCode: 409,
  isSuccess: false,
  errorMessage:
    etag === undefined
      ? `the entry '${place.Key}' exists, and FirstWrite without an etag writes only what is new. Get the entry and give its etag.`
      : `the entry '${place.Key}' no longer has the etag '${etag}'. Get it again, and decide anew.`,
  metadata: place,
  retryable: false,
});
