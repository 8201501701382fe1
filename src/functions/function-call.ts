import type { FunctionVerb } from "../engine/definition/enumerations.ts";
import type { FunctionDefinition } from "../engine/definition/normalise-function.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { Asker } from "../runtime/asker.ts";
import { nothingRun, type Reading } from "../runtime/read-context.ts";
import type { FunctionPlace } from "./function-gate.ts";

/** A call of a function that somebody published. */
export interface FunctionCall {
  readonly key: string;
  readonly place: FunctionPlace;
  readonly verb: FunctionVerb;
  /** Undefined: the request has none. */
  readonly body: JsonValue | undefined;
  readonly asker: Asker;
  readonly isKnown: (eTag: string) => boolean;
}

/** What the scripts of a call see; as body what was sent, and an empty object where nothing was. */
export const readingOfCall = (
  { domain, version }: Pick<FunctionDefinition, "domain" | "version">,
  { place: { instance, workflow }, body = {}, asker }: FunctionCall,
): Reading => ({ ...nothingRun, asker, domain, version, instance, workflow, body });
