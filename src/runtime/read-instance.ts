/** One instance as a reader sees it; a definition is an instance of its system flow. */
import type { Component } from "../engine/component.ts";
import { isComponentKind, type ComponentKind } from "../engine/component-kind.ts";
import type { Instance } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import type { Viewer } from "./check-roles.ts";
import { etagOf } from "./etag-of.ts";
import { instanceEtag } from "./instance-etag.ts";
import { componentOutput, fullOutput, type InstanceOutput } from "./instance-output.ts";
import type { Instances } from "./instances.ts";
import type { WantedDefinition } from "./read-component.ts";

export interface ReadPorts {
  readonly instances: Pick<Instances, "find" | "atVersion" | "sightOf">;
  findDefinition(wanted: WantedDefinition): Promise<Component | undefined>;
  /** Throws when no version of the workflow is published. */
  refuseUnknownWorkflow(domain: string, workflow: string): Promise<void>;
}

export interface WantedInstance {
  domain: string;
  workflow: string;
  /** Id or key. */
  instance: string;
  version: string | undefined;
}

export interface FoundInstance {
  readonly output: InstanceOutput;
  readonly eTag: string;
  /** What was read; none for a definition. */
  readonly instance: Instance | undefined;
}

export async function readInstance(
  ports: ReadPorts,
  wanted: WantedInstance,
  viewer: Viewer,
): Promise<FoundInstance> {
  const { workflow } = wanted;
  const found = isComponentKind(workflow)
    ? await findDefinition(ports, { ...wanted, kind: workflow })
    : await findInstance(ports, wanted, viewer);
  if (found === undefined) throw problems.instanceNotFound(wanted);
  return found;
}

async function findDefinition(
  ports: ReadPorts,
  wanted: { domain: string; kind: ComponentKind; instance: string; version: string | undefined },
): Promise<FoundInstance | undefined> {
  const component = await ports.findDefinition(wanted);
  if (component === undefined) return undefined;
  return {
    output: componentOutput(component),
    eTag: definitionTag(component),
    instance: undefined,
  };
}

async function findInstance(
  ports: ReadPorts,
  wanted: WantedInstance,
  viewer: Viewer,
): Promise<FoundInstance | undefined> {
  const { domain, workflow: flow, instance: reference, version } = wanted;
  const instance = await ports.instances.find({ domain, flow, reference });
  if (instance === undefined) {
    await ports.refuseUnknownWorkflow(domain, flow);
    return undefined;
  }
  const isPinned = version !== undefined && version !== "" && version.toLowerCase() !== "latest";
  const shown = isPinned ? await ports.instances.atVersion(instance, version) : instance;
  if (shown === undefined) return undefined;
  const sight = await ports.instances.sightOf(instance, viewer);
  const output = fullOutput(shown, sight.of(shown.data));
  return { output, eTag: instanceEtag(shown, sight), instance };
}

/** The version's own tag, and what further versions change on the record. */
const definitionTag = ({ id, entityEtag, modifiedAt, tags, ...component }: Component): string =>
  etagOf(
    id,
    entityEtag,
    modifiedAt.getTime(),
    component.modifiedBy,
    component.modifiedByBehalfOf,
    ...tags,
  );
