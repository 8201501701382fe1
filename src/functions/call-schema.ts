/** What a client may send with a transition, and what the data of the workflow are. */
import { problems } from "../engine/problems.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { answerJson, fingerprint, unlessKnown, type FunctionAnswer } from "./function-answer.ts";
import { parameter, type InstanceCall } from "./instance-call.ts";
import { deepest, keeperOf, loadLevels, refuseQuery, type Level, type Levels } from "./levels.ts";
import { pickEntry, readingOf } from "./pick-entry.ts";
import { showSchema } from "./show-schema.ts";
import { transitionAt } from "./slots.ts";

export async function callSchema(
  ports: FunctionPorts,
  call: InstanceCall,
): Promise<FunctionAnswer> {
  const { polled, asker } = call;
  const key = parameter(asker, "transitionkey");
  if (key === undefined) {
    const errors = { transitionKey: ["is required: the schema is that of a transition"] };
    throw problems.requestInvalid({ part: "query", count: 1 }, { errors });
  }
  const levels = await loadLevels(ports, polled);
  await refuseQuery(ports, levels, asker.viewer);
  const at = keeperOf(levels, key);
  const transition = transitionAt(at, key);
  const entry = await pickEntry(ports, transition?.schema ?? [], readingOf(at, asker, transition));
  if (transition === undefined || entry === undefined) {
    const state = at.instance.current.key;
    const what = `The transition '${key}' has no schema for this caller in the state '${state}'.`;
    throw problems.nothingThere({ what }, { target: key });
  }
  const json = await showSchema(ports, entry.reference, at.instance, asker.viewer);
  // What a rule has chosen may be another one for the next request.
  const isFixed = transition.schema[0]?.rule === undefined;
  return isFixed ? tagged(levels, at, json, call) : answerJson(json);
}

export async function callMaster(
  ports: FunctionPorts,
  call: InstanceCall,
): Promise<FunctionAnswer> {
  const { polled, asker } = call;
  const levels = await loadLevels(ports, polled);
  await refuseQuery(ports, levels, asker.viewer);
  const at = deepest(levels);
  const { schema, key } = at.workflow;
  if (schema === undefined) {
    throw problems.nothingThere({ what: `The workflow '${key}' has no master schema.` });
  }
  const json = await showSchema(ports, schema, at.instance, asker.viewer);
  return tagged(levels, at, json, call);
}

/** A subflow's is passed on as it is: it may end before the caller asks again. */
async function tagged(
  levels: Levels,
  at: Level,
  json: string,
  { isKnown }: InstanceCall,
): Promise<FunctionAnswer> {
  if (at !== levels[0]) return answerJson(json);
  const eTag = fingerprint(json);
  return unlessKnown(
    { eTag },
    isKnown,
    () => `${json.slice(0, -1)},"eTag":${JSON.stringify(eTag)}}`,
  );
}
