/** What the two task types that work on state stores have in common. */
import { asText, show } from "../engine/definition/json.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import { findUnstorable } from "../engine/storable-json.ts";
import { StepFailed } from "../engine/task-failure.ts";
import {
  StateStoreFailed,
  type StateStore,
  type StateStoreTrouble,
} from "../storage/state-store.ts";
import type { TaskAnswer, TaskCall, TaskConfig, TaskPorts } from "./task-type.ts";

/** Tasks live under this, so that none can read or overwrite what the engine keeps. */
export const ownPrefix = "custom:";

/** The same for all stores: PostgreSQL has the narrowest index. */
const longestKeyBytes = 1024;

export interface StateAccess {
  readonly store: StateStore;
  readonly storeName: string;
  /** The key as it is stored; throws for one that no store could keep. */
  ownKey(key: unknown): string;
  /** Throws for a value that not every store could keep. */
  checkValue(value: JsonValue): void;
  refuse(message: string): StepFailed;
}

/** `name` is the type's word in error codes. Throws when there is no such store. */
export function accessState(
  { stateStores }: Pick<TaskPorts, "stateStores">,
  { key: task, config }: Pick<TaskCall, "key" | "config">,
  name: string,
): StateAccess {
  const failed = (reason: string, message: string) =>
    new StepFailed({
      code: `Task:${name}:${reason}`,
      layer: "Task",
      task,
      taskType: name,
      message: `Task '${task}' was not carried out: ${message}`,
      retryable: false,
    });
  const refuse = (message: string) => failed("InvalidRequest", message);

  const storeName = textIn(config["storeName"]) ?? stateStores.defaultName;
  const store = stateStores.find(storeName);
  if (store === undefined) {
    throw failed(
      "UnknownStore",
      `there is no state store '${storeName}'. Known are ${stateStores.names.join(", ")}; add it to StateStore.Stores, or correct storeName.`,
    );
  }
  return {
    store,
    storeName,
    refuse,
    ownKey(key) {
      const text = textIn(key);
      if (text === undefined) {
        throw refuse("'key' is missing. Give it in the config, or set it with SetCacheKey.");
      }
      const unstorable = findUnstorable(text);
      if (unstorable !== undefined) throw refuse(`the key is unusable. ${unstorable.reason}`);
      const owned = ownPrefix + text;
      const bytes = Buffer.byteLength(owned);
      if (bytes > longestKeyBytes) {
        throw refuse(
          `the key '${text.slice(0, 40)}…' has ${bytes} bytes with its prefix; ${longestKeyBytes} are allowed. Use a shorter one, a hash say.`,
        );
      }
      return owned;
    },
    checkValue(value) {
      const unstorable = findUnstorable(value);
      if (unstorable === undefined) return;
      const place = unstorable.path === "" ? "the value" : `'${unstorable.path}' of the value`;
      throw refuse(`${place} cannot be stored. ${unstorable.reason}`);
    },
  };
}

const textIn = (value: unknown): string | undefined => {
  const text = asText(value) ?? "";
  return text.trim() === "" ? undefined : text;
};

export const consistencyOf = (config: TaskConfig): "eventual" | "strong" =>
  asText(config["consistency"])?.toLowerCase() === "strong" ? "strong" : "eventual";

/** Undefined for none; refuses what is not a whole number of seconds. */
export function ttlOf(access: StateAccess, value: unknown): number | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const seconds = Number(value);
  if (Number.isSafeInteger(seconds) && seconds >= 0 && seconds <= longestTtlSeconds) {
    return seconds === 0 ? undefined : seconds;
  }
  throw access.refuse(
    `'ttlInSeconds' is ${show(value)}; it is a whole number of seconds up to ${longestTtlSeconds}, or absent for no end.`,
  );
}

const longestTtlSeconds = 100 * 366 * 86_400;

const statuses: Readonly<Record<StateStoreTrouble, number>> = {
  unavailable: 503,
  unsupported: 501,
  refused: 502,
};

/** A store that fails is an answer like any other error status; what is not its failure is thrown. */
export function troubleAnswer(
  error: unknown,
  metadata: Readonly<Record<string, JsonValue>>,
): TaskAnswer {
  if (!(error instanceof StateStoreFailed)) throw error;
  return {
    data: undefined,
    statusCode: statuses[error.reason],
    isSuccess: false,
    errorMessage: error.message,
    metadata,
    retryable: error.reason === "unavailable",
  };
}
