/**
 * Runs a function that somebody published. The order of the checks is part of the contract: is it
 * there, may it be called here, by this caller, with this verb, with this body.
 */
import type { FunctionDefinition } from "../engine/definition/normalise-function.ts";
import { toPlain } from "../engine/exact-json.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { loadSchema } from "../runtime/load-program.ts";
import { fromCacheOr } from "./answer-from-cache.ts";
import { fingerprint, type FunctionAnswer } from "./function-answer.ts";
import { readingOfCall, type FunctionCall } from "./function-call.ts";
import { findFunction, refuseFunction } from "./function-gate.ts";
import { parameter } from "./instance-call.ts";
import { pickEntry } from "./pick-entry.ts";
import { runFunction } from "./run-function.ts";

export async function callFunction(
  ports: FunctionPorts,
  call: FunctionCall,
): Promise<FunctionAnswer> {
  const { key, place, asker } = call;
  const version = parameter(asker, "version")?.replaceAll(" ", "+");
  const found = await findFunction(ports, place, key, version);
  await refuseFunction(ports, found, place, asker.viewer);
  const { definition } = found;
  const refused = refusedVerb(definition, call);
  if (refused !== undefined) return refused;
  await checkBody(ports, definition, call);
  const answer = await fromCacheOr(ports, definition, call, () =>
    runFunction(ports, definition, call),
  );
  return call.verb === "GET" ? conditional(answer, call) : answer;
}

/** A body of its own, which clients of the public system know. */
function refusedVerb(
  { key, verbs }: FunctionDefinition,
  { verb }: FunctionCall,
): FunctionAnswer | undefined {
  if (verbs.length === 0 || verbs.includes(verb)) return undefined;
  const allow = verbs.join(", ");
  const body = {
    type: "Function:800003",
    title: "Method Not Allowed",
    status: 405,
    detail: `The function '${key}' does not answer ${verb}. Use one of: ${allow}.`,
  };
  return {
    statusCode: 405,
    body: JSON.stringify(body),
    contentType: "application/problem+json; charset=utf-8",
    headers: { allow },
  };
}

/** Only what was sent is checked; a slot whose rules all refuse asks for nothing. */
async function checkBody(
  ports: FunctionPorts,
  definition: FunctionDefinition,
  call: FunctionCall,
): Promise<void> {
  const { body, key } = call;
  if (body === undefined) return;
  const reading = readingOfCall(definition, call);
  const entry = await pickEntry(ports, definition.schemas.input, reading);
  if (entry === undefined) return;
  const schema = await loadSchema(ports.catalogue, entry.reference);
  const errors = schema.validate(toPlain(body));
  if (errors.length > 0) throw new PayloadRejected(key, errors);
}

/** The tag is of the body, unless the function names it itself; only a success can be known. */
function conditional(answer: FunctionAnswer, { isKnown }: FunctionCall): FunctionAnswer {
  const { statusCode, body, contentType, headers } = answer;
  if (statusCode !== 200 || body === undefined) return answer;
  const etag = headers["etag"] ?? fingerprint(contentType, body);
  const tagged = { ...answer, headers: { ...headers, etag } };
  return isKnown(etag) ? { ...tagged, statusCode: 304, body: undefined } : tagged;
}
