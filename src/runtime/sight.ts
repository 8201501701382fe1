/** What somebody may see of an instance's data, by the rules of its workflow's master schema. */
import type { Component, ComponentVersion } from "../engine/component.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import { compileFieldAccess, type FieldAccess } from "../engine/field-access.ts";
import type { Instance } from "../engine/instance.ts";
import type { Catalogue } from "./catalogue.ts";
import { roleCaller, type RolePorts, type Viewer } from "./check-roles.ts";
import { toWorkflow } from "./load-program.ts";

export interface Sight {
  /** What is left of the data, of an older version of them, or of a part that was merged into them. */
  of(data: JsonValue | undefined): JsonValue | undefined;
  /** For ETags: differs whenever somebody else, or a new schema, would see something else. */
  readonly tag: string;
}

export type SightOf = (instance: Instance, viewer: Viewer) => Promise<Sight>;

interface SightPorts extends RolePorts {
  readonly catalogue: Catalogue;
}

const everything: Sight = { of: (data) => data, tag: "" };

/** Rules about people known to the instance look at it as it is now, whatever version is shown. */
export async function sightOf(
  { catalogue, store }: SightPorts,
  instance: Instance,
  viewer: Viewer,
): Promise<Sight> {
  const flow = await flowOf(catalogue, instance);
  const found = flow === undefined ? undefined : await accessOf(catalogue, flow);
  if (found === undefined) return everything;
  const { access, schema } = found;
  const caller = await roleCaller({ store }, access.grants, instance, viewer);
  const signature = access.signature(caller);
  return {
    of: (data) => access.visible(data, caller),
    tag: signature === "" ? "" : `${schema.componentId}@${schema.version}\n${signature}`,
  };
}

/** Whether there are fields of the instance's data that not everybody sees. */
export async function isRestricted(catalogue: Catalogue, instance: Instance): Promise<boolean> {
  const flow = await flowOf(catalogue, instance);
  return flow !== undefined && (await accessOf(catalogue, flow)) !== undefined;
}

/** A record may name a version that nobody published; the rules of the latest hold for it. */
async function flowOf(
  catalogue: Catalogue,
  { domain, flow: key, flowVersion }: Instance,
): Promise<ComponentVersion | undefined> {
  const address = { domain, kind: ComponentKind.flow, key };
  return (await catalogue.find(address, flowVersion)) ?? catalogue.resolve(address);
}

/** Undefined when nothing restricts anybody, or the schema is not there: then it has no rules. */
export async function accessOf(
  catalogue: Catalogue,
  flow: ComponentVersion,
): Promise<{ access: FieldAccess; schema: ComponentVersion } | undefined> {
  const { schema: reference } = await catalogue.compiled(flow, toWorkflow);
  if (reference === undefined) return undefined;
  const { domain, key, version } = reference;
  const schema = await catalogue.find({ domain, kind: ComponentKind.schema, key }, version);
  if (schema === undefined) return undefined;
  const access = await catalogue.compiled(schema, toFieldAccess);
  return access === undefined ? undefined : { access, schema };
}

const toFieldAccess = ({ attributes }: Component): FieldAccess | undefined =>
  compileFieldAccess(attributes["schema"]);
