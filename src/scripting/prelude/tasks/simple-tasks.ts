/** Task types without mutators: what they do is in their mapping or in their configuration. */
import type { Dynamic } from "../dynamic.ts";
import { isObject } from "../json.ts";
import { read, readTexts, WorkflowTask } from "./workflow-task.ts";

/** Task type 5: waits for a person. */
export class HumanTask extends WorkflowTask {
  get Title(): string | null {
    return read<string | null>(this, "title", null);
  }
  get Instructions(): string | null {
    return read<string | null>(this, "instructions", null);
  }
  get AssignedTo(): string | null {
    return read<string | null>(this, "assignedTo", null);
  }
  get DueDate(): string | null {
    return read<string | null>(this, "dueDate", null);
  }
  get Form(): Dynamic {
    return read<Dynamic>(this, "form", null);
  }
  get ReminderIntervalMinutes(): number | null {
    return read<number | null>(this, "reminderIntervalMinutes", null);
  }
  get EscalationTimeoutMinutes(): number | null {
    return read<number | null>(this, "escalationTimeoutMinutes", null);
  }
  get EscalationAssignee(): string | null {
    return read<string | null>(this, "escalationAssignee", null);
  }
}

/** Task type 7: nothing is invoked; the output handler is the task. */
export class ScriptTask extends WorkflowTask {
  declare readonly Type: "7";
}

/** Task type 10: one message per channel, made by the notification mapping. */
export class NotificationTask extends WorkflowTask {
  get Channels(): readonly string[] {
    return readTexts(this, "channels") ?? [];
  }
  get IncludeStateChannel(): boolean {
    return read(this, "includeStateChannel", true);
  }
}

/** Task type 21: one inner task per item of a list, in parallel. */
export class FanOutTask extends WorkflowTask {
  get Mode(): string {
    return read(this, "mode", "inline");
  }
  /** Rooted at `$.`, in the instance's data. */
  get ItemsPath(): string | null {
    return read<string | null>(this, "itemsPath", null);
  }
  get ItemAlias(): string | null {
    return read<string | null>(this, "itemAlias", null);
  }
  get ItemTask(): Dynamic {
    return read<Dynamic>(this, "task", null);
  }
  get MaxDegreeOfParallelism(): number {
    return part(this, "execution", "maxDegreeOfParallelism", 4);
  }
  get ItemTimeoutSeconds(): number {
    return part(this, "execution", "itemTimeoutSeconds", 30);
  }
  get BatchTimeoutSeconds(): number {
    return part(this, "execution", "batchTimeoutSeconds", 120);
  }
  get JoinPolicy(): string {
    return part(this, "join", "policy", "allSettled");
  }
  get MinSuccess(): number | null {
    return part<number | null>(this, "join", "minSuccess", null);
  }
  get ResultKey(): string {
    return part(this, "join", "resultKey", "fanOutResults");
  }
  get Ordered(): boolean {
    return part(this, "join", "ordered", true);
  }
}

function part<Value>(task: WorkflowTask, group: string, name: string, otherwise: Value): Value {
  const values = read<unknown>(task, group, null);
  return isObject(values) ? ((values[name] as Value | null | undefined) ?? otherwise) : otherwise;
}
