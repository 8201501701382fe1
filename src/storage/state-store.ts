/**
 * A store of JSON values by key: for tasks of the types 17 and 18. The adapters are in
 * `state-stores/` and `postgres/`; all pass `test/contracts/state-store-contract.ts`.
 *
 * An entry whose time is over is not there, whether it has been swept or not. Keys are taken as they
 * are: prefixes are the caller's business.
 */
import type { JsonValue } from "../engine/exact-json.ts";
import type { StateFilter } from "./state-filter.ts";

export interface StateStore {
  get(key: string, options?: StateOptions): Promise<StateEntry | undefined>;
  /** Replaces the whole entry, its end of life too. */
  set(key: string, value: JsonValue, options?: SetOptions): Promise<Written | "conflict">;
  /** What is not there is as good as deleted. */
  delete(key: string, options?: DeleteOptions): Promise<"deleted" | "conflict">;
  deleteMany(keys: readonly string[], options?: StateOptions): Promise<void>;
  /** Deletes what starts with the prefix and matches; answers how many that were. */
  deleteMatching(prefix: string, filter: StateFilter, options?: StateOptions): Promise<number>;
  close(): Promise<void>;
}

export interface StateEntry {
  readonly value: JsonValue;
  /** Another one after every write, also after a delete in between. */
  readonly etag: string | undefined;
}

export interface Written {
  /** Undefined where the store does not tell. */
  readonly etag: string | undefined;
}

export interface StateOptions {
  /** Only a store that has replicas knows a difference. Default: eventual. */
  readonly consistency?: "eventual" | "strong" | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface SetOptions extends StateOptions {
  /** No end unless given. */
  readonly ttlSeconds?: number | undefined;
  /** `absent`: only where there is no entry. An etag: only over the entry that has it. */
  readonly when?: "always" | "absent" | { readonly etag: string } | undefined;
  /**
   * Names this write. Repeated under the same name, it does not conflict with itself: after a crash
   * nobody knows whether the first attempt got through.
   */
  readonly writer?: string | undefined;
  /** For the component behind the store. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export interface DeleteOptions extends StateOptions {
  readonly when?: "always" | { readonly etag: string } | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export type StateStoreTrouble =
  /** Does not answer, or not in time. */
  | "unavailable"
  /** Has no such operation. */
  | "unsupported"
  /** Answers, and refuses. */
  | "refused";

export class StateStoreFailed extends Error {
  override readonly name = "StateStoreFailed";
  readonly reason: StateStoreTrouble;

  constructor(reason: StateStoreTrouble, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}

/** The stores of the configuration, by name. */
export interface StateStores {
  readonly names: readonly string[];
  /** The one that is meant when a task names none. */
  readonly defaultName: string;
  find(name: string): StateStore | undefined;
  close(): Promise<void>;
}
