/** Task types 13, 15 and 19: read instances. */
import { describe } from "../describe.ts";
import { ArgumentException, isBlank } from "../errors.ts";
import { FlowTask } from "./flow-task.ts";
import { readGuid } from "./guid.ts";
import { configOf, read, readTexts, write, writeJson } from "./workflow-task.ts";

/** What 13 and 19 share. */
export class InstanceReadTask extends FlowTask {
  get TriggerKey(): string | null {
    return read<string | null>(this, "key", null);
  }
  get TriggerInstanceId(): string | null {
    return readGuid(read(this, "instanceId", "")) ?? null;
  }
  get Extensions(): readonly string[] | null {
    return readTexts(this, "extensions");
  }
  /** The id, else the key. */
  get Identifier(): string | null {
    return this.TriggerInstanceId ?? this.TriggerKey;
  }

  /** A GUID is the instance's id, any other text its key; blank clears the id. */
  SetInstance(instanceId: string | null | undefined): void {
    const id = isBlank(instanceId) ? undefined : readGuid(String(instanceId));
    if (id !== undefined || isBlank(instanceId)) write(this, "instanceId", id);
    else write(this, "key", instanceId);
  }
  SetKey(key: string | null | undefined): void {
    write(this, "key", key);
  }
  SetExtensions(extensions: readonly string[] | null | undefined): void {
    writeJson(this, "extensions", extensions);
  }
}

/** Task type 13: the data of one instance. */
export class GetInstanceDataTask extends InstanceReadTask {
  declare readonly Type: "13";
}

/** Task type 19: one instance as a whole. */
export class GetInstanceTask extends InstanceReadTask {
  declare readonly Type: "19";
}

/** Task type 15: a page of instances. */
export class GetInstancesTask extends FlowTask {
  get Page(): number {
    return positive(read(this, "page", 1), 1);
  }
  get PageSize(): number {
    return positive(read(this, "pageSize", 10), 10);
  }
  get Sort(): string | null {
    return read<string | null>(this, "sort", null);
  }
  /** As JSON text. A definition may hold it in a list of one. */
  get Filter(): string | null {
    return filterText(configOf(this)["filter"]);
  }

  SetPage(page: number): void {
    write(this, "page", positive(page, 1));
  }
  SetPageSize(pageSize: number): void {
    write(this, "pageSize", positive(pageSize, 10));
  }
  SetSort(sort: string | null | undefined): void {
    write(this, "sort", sort);
  }
  /** JSON text, a list with one such text, or the filter as an object. */
  SetFilter(filter: string | readonly string[] | object | null | undefined): void {
    if (filter !== null && !["undefined", "string", "object"].includes(typeof filter)) {
      throw new ArgumentException(`Not a filter: ${describe(filter)}.`, "filter");
    }
    write(this, "filter", filterText(filter));
  }
}

function filterText(filter: unknown): string | null {
  if (Array.isArray(filter)) return filterText(filter.find((item) => !isBlank(item)) ?? null);
  if (filter === null || filter === undefined) return null;
  return typeof filter === "string" ? filter : JSON.stringify(filter);
}

const positive = (value: number, otherwise: number): number => (value > 0 ? value : otherwise);
