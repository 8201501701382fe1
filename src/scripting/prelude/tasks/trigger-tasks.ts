/** Task types 11, 12 and 14: start an instance, move one, start a subprocess. */
import type { Dynamic } from "../dynamic.ts";
import { isBlank, requireText } from "../errors.ts";
import { FlowTask } from "./flow-task.ts";
import { readGuid } from "./guid.ts";
import { read, readTexts, write, writeJson } from "./workflow-task.ts";

/** What 11, 12 and 14 share. The three are siblings: `instanceof StartTask` is true of type 11 only. */
export class TriggerTask extends FlowTask {
  get TriggerKey(): string | null {
    return read<string | null>(this, "key", null);
  }
  get TriggerVersion(): string | null {
    return read<string | null>(this, "version", null);
  }
  /** Whether the answer is awaited. */
  get TriggerSync(): boolean {
    return read(this, "sync", false);
  }
  get TriggerTags(): readonly string[] | null {
    return readTexts(this, "tags");
  }
  get Body(): Dynamic {
    return read<Dynamic>(this, "body", null);
  }

  SetKey(key: string | null | undefined): void {
    write(this, "key", key);
  }
  SetVersion(version: string | null | undefined): void {
    write(this, "version", version);
  }
  SetSync(sync: boolean): void {
    write(this, "sync", sync);
  }
  SetTags(tags: readonly string[] | null | undefined): void {
    writeJson(this, "tags", tags);
  }
  SetBody(body: unknown): void {
    writeJson(this, "body", body);
  }
}

/** Task type 11: starts an instance of another workflow. */
export class StartTask extends TriggerTask {
  declare readonly Type: "11";
}

/** Task type 12: runs a transition of another instance. */
export class DirectTriggerTask extends TriggerTask {
  override get TriggerSync(): boolean {
    return read(this, "sync", true);
  }
  get TransitionName(): string {
    return read(this, "transitionName", "");
  }
  get TriggerInstanceId(): string | null {
    return readGuid(read(this, "instanceId", "")) ?? null;
  }
  /** The id, else the key. */
  get Identifier(): string | null {
    return this.TriggerInstanceId ?? this.TriggerKey;
  }

  SetTransitionName(transitionName: string): void {
    write(this, "transitionName", requireText(transitionName, "transitionName"));
  }

  /** A GUID is the instance's id; any other text clears it. For a key there is `SetKey`. */
  SetInstance(instanceId: string | null | undefined): void {
    write(this, "instanceId", isBlank(instanceId) ? null : readGuid(String(instanceId)));
  }
}

/** Task type 14: starts a subprocess, which runs on its own. */
export class SubProcessTask extends TriggerTask {
  declare readonly Type: "14";
}

/** The class that they were before they were split. */
export const TriggerTransitionTask: typeof TriggerTask = TriggerTask;
export type TriggerTransitionTask = TriggerTask;
