/** Task types 17 and 18: the state store, by itself and as a cache in front of another task. */
import type { Dynamic } from "../dynamic.ts";
import { configOf, read, readTexts, WorkflowTask, write, writeJson } from "./workflow-task.ts";

/** Task type 17: reads, writes and deletes entries. */
export class StateStoreTask extends WorkflowTask {
  /** get, set or delete. */
  get Command(): string {
    return read(this, "command", "");
  }
  get StoreName(): string {
    return read(this, "storeName", "");
  }
  get CacheKey(): string {
    return read(this, "key", "");
  }
  get CacheKeys(): readonly string[] | null {
    return readTexts(this, "keys");
  }
  get Query(): Dynamic {
    return read<Dynamic>(this, "query", null);
  }
  get Value(): Dynamic {
    return read<Dynamic>(this, "value", null);
  }
  get TtlInSeconds(): number | null {
    return read<number | null>(this, "ttlInSeconds", null);
  }
  get ETag(): string | null {
    return read<string | null>(this, "etag", null);
  }
  get Concurrency(): string | null {
    return read<string | null>(this, "concurrency", null);
  }
  get Consistency(): string | null {
    return read<string | null>(this, "consistency", null);
  }
  get Metadata(): Dynamic {
    return read<Dynamic>(this, "metadata", null);
  }

  SetCommand(command: string): void {
    write(this, "command", command);
  }
  SetStoreName(storeName: string): void {
    write(this, "storeName", storeName);
  }
  SetCacheKey(cacheKey: string): void {
    write(this, "key", cacheKey);
  }
  SetCacheKeys(cacheKeys: readonly string[] | null | undefined): void {
    writeJson(this, "keys", cacheKeys);
  }
  /** Null takes the value away. */
  SetValue(value: unknown): void {
    if (value === null || value === undefined) delete configOf(this)["value"];
    else writeJson(this, "value", value);
  }
  SetTtlInSeconds(ttlInSeconds: number | null | undefined): void {
    write(this, "ttlInSeconds", ttlInSeconds);
  }
  SetMetadata(metadata: Readonly<Record<string, string | null>> | null): void {
    writeJson(this, "metadata", metadata);
  }
  /** The etag of an earlier `get`: without it there is nothing to compare a write with. */
  SetETag(etag: string | null | undefined): void {
    write(this, "etag", etag);
  }
  /** FirstWrite or LastWrite. */
  SetConcurrency(concurrency: string | null | undefined): void {
    write(this, "concurrency", concurrency);
  }
  /** Eventual or Strong. */
  SetConsistency(consistency: string | null | undefined): void {
    write(this, "consistency", consistency);
  }
  SetQuery(query: unknown): void {
    writeJson(this, "query", query);
  }
}

/** Task type 18: the cached answer of another task. */
export class CacheAsideTask extends WorkflowTask {
  get CacheKey(): string {
    const key = read<unknown>(this, "key", "");
    return typeof key === "string" ? key : "";
  }
  get StoreName(): string {
    return read(this, "storeName", "");
  }
  get TtlInSeconds(): number | null {
    return read<number | null>(this, "ttlInSeconds", null);
  }
  get Consistency(): string | null {
    return read<string | null>(this, "consistency", null);
  }
  get SourceTask(): Dynamic {
    return read<Dynamic>(this, "sourceTask", null);
  }
  get SourceMapping(): Dynamic {
    return read<Dynamic>(this, "sourceMapping", null);
  }
  get KeyExpression(): Dynamic {
    return read<Dynamic>(this, "keyExpression", null);
  }
  get BypassOnCacheError(): boolean {
    return read(this, "bypassOnCacheError", true);
  }
  get ForceRefresh(): boolean {
    return read(this, "forceRefresh", false);
  }

  SetCacheKey(cacheKey: string): void {
    write(this, "key", cacheKey);
  }
  SetStoreName(storeName: string): void {
    write(this, "storeName", storeName);
  }
  SetTtlInSeconds(ttlInSeconds: number | null | undefined): void {
    write(this, "ttlInSeconds", ttlInSeconds);
  }
}
