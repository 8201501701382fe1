/**
 * Which function a call means, and who may call it where. Execution, discovery, the catalog and
 * `authorize` all ask here, so that they cannot disagree.
 */
import { ComponentKind } from "../engine/component-kind.ts";
import type { Workflow } from "../engine/definition/model.ts";
import {
  normaliseFunction,
  type FunctionDefinition,
} from "../engine/definition/normalise-function.ts";
import type { Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import { explainRoles, type Explanation } from "../engine/role-gate.ts";
import { roleCaller, type RolePorts, type Viewer } from "../runtime/check-roles.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { asIfSent } from "./as-if-sent.ts";

/** Where a function is called: in a domain, or on an instance. */
export type FunctionPlace =
  | { readonly domain: string; readonly instance: undefined; readonly workflow: undefined }
  | { readonly domain: string; readonly instance: Instance; readonly workflow: Workflow };

export interface FoundFunction {
  readonly definition: FunctionDefinition;
  /** By the workflow of the instance. */
  readonly isDeclared: boolean;
}

/**
 * What a workflow declares has the version it declares; everything else the one that is asked for,
 * else the latest.
 */
export async function findFunction(
  { catalogue }: FunctionPorts,
  { domain, workflow }: FunctionPlace,
  key: string,
  version?: string,
): Promise<FoundFunction> {
  const declared = workflow?.functions.find((reference) => reference.key === key);
  const wanted = declared ?? { domain, key, version };
  const address = { domain: wanted.domain, kind: ComponentKind.function, key };
  const found = await catalogue.find(address, wanted.version);
  if (found === undefined) {
    throw problems.componentNotFound({
      domain: wanted.domain,
      flow: ComponentKind.function,
      key,
      version: wanted.version,
    });
  }
  const definition = await catalogue.compiled(found, normaliseFunction);
  return { definition, isDeclared: declared !== undefined };
}

export interface FunctionGates {
  /** Why it cannot be called here by anybody; undefined when it can. */
  readonly scopeRefusal: string | undefined;
  readonly roles: Explanation;
}

export async function gatesOfFunction(
  ports: RolePorts,
  { definition, isDeclared }: FoundFunction,
  { instance }: FunctionPlace,
  viewer: Viewer,
): Promise<FunctionGates> {
  const calling = asIfSent(viewer, { route: { function: definition.key } });
  const { roles, author, request } = calling;
  const caller =
    instance === undefined
      ? { roles, author, request, instance: undefined }
      : await roleCaller(ports, definition.roles, instance, calling);
  return {
    scopeRefusal: scopeRefusal(definition, isDeclared, instance !== undefined),
    roles: explainRoles(definition.roles, caller),
  };
}

function scopeRefusal(
  { scope }: FunctionDefinition,
  isDeclared: boolean,
  isOnInstance: boolean,
): string | undefined {
  if (scope === "domain") return undefined;
  if (!isOnInstance) return "it is a function of instances. Call it on one.";
  if (scope === "instance" || isDeclared) return undefined;
  return "the workflow does not list it. Add it to the 'functions' of the workflow.";
}

/** Throws for who may not call it here. */
export async function refuseFunction(
  ports: FunctionPorts,
  found: FoundFunction,
  place: FunctionPlace,
  viewer: Viewer,
): Promise<void> {
  const { key, scope } = found.definition;
  const gates = await gatesOfFunction(ports, found, place, viewer);
  if (gates.scopeRefusal !== undefined) {
    throw problems.functionScope({ key, scope, reason: gates.scopeRefusal }, { target: key });
  }
  if (ports.enforceFunctionRoles && !gates.roles.allowed) {
    throw problems.roleDenied({ what: `the function '${key}'` }, { target: key });
  }
}
