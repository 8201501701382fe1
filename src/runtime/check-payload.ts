import type { SchemaEntry, Transition } from "../engine/definition/model.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import { toPlain, type JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import { problems } from "../engine/problems.ts";
import { errorsInMerge } from "../engine/transition/merge-into-run.ts";
import type { Program } from "../engine/transition/run.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { ScriptHost, ScriptRequest } from "../scripting/script-host.ts";
import type { Catalogue } from "./catalogue.ts";
import { loadSchema } from "./load-program.ts";

interface PayloadPorts {
  catalogue: Catalogue;
  scripts: ScriptHost;
}

/**
 * The payload as it was sent against the transition's schema, before any mapping and before anything
 * is stored. Of several schemas the first whose rule holds is taken; one without a rule always holds.
 */
export async function checkPayload(
  ports: PayloadPorts,
  transition: Transition,
  attributes: JsonValue | undefined,
  request: (script: ScriptCode) => ScriptRequest,
): Promise<void> {
  const entry = await choose(ports, transition, request);
  if (entry === undefined) return;
  const schema = await loadSchema(ports.catalogue, entry.reference);
  const errors = schema.validate(toPlain(attributes ?? {}));
  if (errors.length > 0) throw new PayloadRejected(transition.key, errors);
}

/**
 * For work that is only accepted: what the master schema would refuse at the merge is told now, where
 * somebody still listens. What a mapping will make of the payload is not known yet.
 */
export function checkMerge(
  program: Program,
  instance: Instance,
  transition: Transition,
  attributes: JsonValue | undefined,
): void {
  if (transition.mapping !== undefined) return;
  const errors = errorsInMerge(program, instance, attributes);
  if (errors.length > 0) throw new PayloadRejected(transition.key, errors);
}

async function choose(
  { scripts }: PayloadPorts,
  { key, schema }: Transition,
  request: (script: ScriptCode) => ScriptRequest,
): Promise<SchemaEntry | undefined> {
  try {
    for (const entry of schema) {
      if (entry.rule === undefined || (await scripts.holds(request(entry.rule)))) return entry;
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    throw problems.ruleFailed({ transition: key, reason: error.message }, { cause: error });
  }
}
