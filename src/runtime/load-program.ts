/** A workflow ready to run: its definition in the engine's form, with the checks compiled from it. */
import type { Component, ComponentVersion } from "../engine/component.ts";
import { ComponentKind } from "../engine/component-kind.ts";
import type { Workflow } from "../engine/definition/model.ts";
import { normaliseWorkflow } from "../engine/definition/normalise-workflow.ts";
import type { Reference } from "../engine/definition/reference.ts";
import { readHelpers } from "../engine/definition/script-code.ts";
import { scriptSlotsIn } from "../engine/definition/script-slots.ts";
import { toPlain } from "../engine/exact-json.ts";
import { compileSchema, type CompiledSchema } from "../engine/json-schema.ts";
import { problems } from "../engine/problems.ts";
import type { Program } from "../engine/transition/run.ts";
import type { Catalogue } from "./catalogue.ts";

export interface WantedWorkflow {
  domain: string;
  workflow: string;
  /** The version an instance is bound to, or the one a start asks for; the latest without. */
  version: string | undefined;
}

export async function loadProgram(catalogue: Catalogue, wanted: WantedWorkflow): Promise<Program> {
  const found = await findWorkflow(catalogue, wanted);
  const workflow = await catalogue.compiled(found, toWorkflow);
  const master =
    workflow.schema === undefined ? undefined : await loadSchema(catalogue, workflow.schema);
  return {
    workflow,
    checkData: master === undefined ? undefined : (data) => master.validate(toPlain(data)),
    readsRequest: await catalogue.compiled(found, readsRequest),
  };
}

async function findWorkflow(
  catalogue: Catalogue,
  { domain, workflow: key, version }: WantedWorkflow,
): Promise<ComponentVersion> {
  const found = await catalogue.find({ domain, kind: ComponentKind.flow, key }, version);
  if (found === undefined) {
    throw problems.componentNotFound({ domain, flow: ComponentKind.flow, key, version });
  }
  return found;
}

/** The definition alone. */
export const loadWorkflow = async (
  catalogue: Catalogue,
  wanted: WantedWorkflow,
): Promise<Workflow> => catalogue.compiled(await findWorkflow(catalogue, wanted), toWorkflow);

/** A reference may name a range, so it is resolved each time; what it resolves to is compiled once. */
export async function loadSchema(
  catalogue: Catalogue,
  reference: Reference,
): Promise<CompiledSchema> {
  const found = await resolveReference(catalogue, reference, ComponentKind.schema);
  return catalogue.compiled(found, toSchema);
}

export async function resolveReference(
  catalogue: Catalogue,
  { domain, key, version }: Reference,
  kind: ComponentKind,
): Promise<ComponentVersion> {
  const found = await catalogue.find({ domain, kind, key }, version);
  if (found === undefined) throw problems.componentNotFound({ domain, flow: kind, key, version });
  return found;
}

export const toWorkflow = ({ key, domain, version, attributes }: Component): Workflow =>
  normaliseWorkflow({ key, domain, version, attributes });

/** By the texts of its scripts. What stands in helpers and other components is not known here. */
function readsRequest({ kind, domain, attributes }: Component): boolean {
  if (readHelpers(attributes["scripts"], { domain }).length > 0) return true;
  return scriptSlotsIn(kind, attributes, { domain }).some(
    ({ script }) =>
      script.ref !== undefined ||
      script.helpers.length > 0 ||
      /RawBody|QueryParameters/i.test(script.code),
  );
}

const toSchema = ({ attributes }: Component): CompiledSchema =>
  compileSchema(attributes["schema"] as object);
