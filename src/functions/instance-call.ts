/** A call of a function on an instance. */
import type { Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import { isComponentKind } from "../engine/component-kind.ts";
import type { Asker } from "../runtime/asker.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";

export interface InstanceCall {
  /** The instance in the path, whatever subflow is open in it. */
  readonly polled: Instance;
  readonly asker: Asker;
  /** Whether the caller has what this ETag names; nobody has outside of a GET. */
  readonly isKnown: (eTag: string) => boolean;
}

export interface InstancePlace {
  readonly domain: string;
  readonly workflow: string;
  /** Id or key. */
  readonly instance: string;
}

export async function findInstance(
  { store, refuseUnknownWorkflow }: FunctionPorts,
  { domain, workflow, instance: reference }: InstancePlace,
): Promise<Instance> {
  const found = await store.find({ domain, flow: workflow, reference });
  if (found !== undefined) return found;
  if (!isComponentKind(workflow)) await refuseUnknownWorkflow(domain, workflow);
  throw problems.instanceNotFound({ domain, workflow, instance: reference });
}

/** The first value of a parameter, whose name matches in any letter case; blank counts as absent. */
export function parameter({ query }: Asker, name: string): string | undefined {
  const value = valuesOf(query, name)[0]?.trim();
  return value === "" ? undefined : value;
}

export const isSet = (asker: Asker, name: string): boolean =>
  parameter(asker, name)?.toLowerCase() === "true";

/** Repeated, or separated by commas. */
export const listed = ({ query }: Asker, name: string): string[] => listedIn(query, name);

export const listedIn = (query: Asker["query"], name: string): string[] => [
  ...new Set(
    valuesOf(query, name)
      .flatMap((value) => value.split(","))
      .map((value) => value.trim())
      .filter((value) => value !== ""),
  ),
];

const valuesOf = (query: Asker["query"], name: string): string[] =>
  Object.entries(query)
    .filter(([given]) => given.toLowerCase() === name)
    .flatMap(([, value]) => value);
