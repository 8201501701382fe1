/** What the functions of instances and domains are made of. */
import type { ScriptHost } from "../scripting/script-host.ts";
import type { InstanceStore } from "../storage/instance-store.ts";
import type { TaskJournal } from "../storage/task-journal.ts";
import type { AnswerCache } from "./answer-cache.ts";
import type { Instances } from "./instances.ts";
import type { ReadTaskPorts } from "./run-read-tasks.ts";

export type { Correlation, Descendant, StoredTimer } from "../storage/instance-store.ts";
export type { ListedTask } from "../storage/task-journal.ts";

export interface FunctionPorts extends ReadTaskPorts {
  readonly instances: Instances;
  readonly store: InstanceStore;
  readonly journal: TaskJournal;
  readonly scripts: ScriptHost;
  readonly cache: AnswerCache;
  /** Whether a function is refused to callers who lack its roles. */
  readonly enforceFunctionRoles: boolean;
  readonly enforceQueryRoles: boolean;
  /** Throws when no version of the workflow is published. */
  refuseUnknownWorkflow(domain: string, workflow: string): Promise<void>;
  readonly onTrouble: (event: string, error: unknown) => void;
}
