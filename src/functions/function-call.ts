import type { FunctionVerb } from "../engine/definition/enumerations.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { Asker } from "../runtime/asker.ts";
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
