/** The functions that every instance has: one row each. Their names match in any letter case. */
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { callAuthorize } from "./call-authorize.ts";
import { callCatalog } from "./call-catalog.ts";
import { callData, callExtensions } from "./call-data.ts";
import { callHierarchy } from "./call-hierarchy.ts";
import { callPermissions } from "./call-permissions.ts";
import { callMaster, callSchema } from "./call-schema.ts";
import { callActions, callTasks } from "./call-tasks.ts";
import { callView } from "./call-view.ts";
import type { FunctionAnswer } from "./function-answer.ts";
import type { InstanceCall } from "./instance-call.ts";
import { callState } from "./render-state.ts";

export type BuiltIn = (ports: FunctionPorts, call: InstanceCall) => Promise<FunctionAnswer>;

const builtIns: ReadonlyMap<string, BuiltIn> = new Map([
  ["state", callState],
  ["data", callData],
  ["view", callView],
  ["schema", callSchema],
  ["master", callMaster],
  ["extensions", callExtensions],
  ["authorize", callAuthorize],
  ["permissions", callPermissions],
  ["catalog", callCatalog],
  ["hierarchy", callHierarchy],
  ["instance-correlation", callHierarchy],
  ["tasks", callTasks],
  ["actions", callActions],
]);

export const builtInOf = (name: string): BuiltIn | undefined => builtIns.get(name.toLowerCase());
