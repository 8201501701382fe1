import type { Instance } from "../engine/instance.ts";
import type { InstanceQuery } from "../engine/instance-query/instance-query.ts";

/** An instance of a list. Its data is passed on as text, so that nothing is parsed on the way out. */
export interface ListedInstance {
  /** Without its data. */
  instance: Instance;
  dataText: string | undefined;
}

export type InstanceList =
  | { kind: "page"; instances: ListedInstance[]; hasNext: boolean }
  /** Groups as JSON texts, in the order of their fields. */
  | { kind: "groups"; groups: string[] }
  | { kind: "tooManyGroups"; limit: number }
  /** The statement's time limit ended it. */
  | { kind: "tooSlow" };

export interface InstanceLists {
  /** Instances of an ordinary workflow. */
  instances(scope: { domain: string; flow: string }, query: InstanceQuery): Promise<InstanceList>;
  /** Definitions: the records of a system flow, each in its latest version. */
  definitions(scope: { domain: string; flow: string }, query: InstanceQuery): Promise<InstanceList>;
}
