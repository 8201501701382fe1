import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { ScriptRequest } from "../scripting/script-host.ts";
import type { Execution } from "./execution.ts";
import { readRelatives, type RelativePorts } from "./read-relatives.ts";
import { scriptContext } from "./script-context.ts";

/** What a script of a run is run with. */
export const scriptRequest = (
  ports: RelativePorts,
  { run, signal, traceId }: Pick<Execution, "run" | "signal" | "traceId">,
  script: ScriptCode,
): ScriptRequest => ({
  script,
  helpers: run.program.workflow.helpers,
  context: scriptContext(run, traceId, (members) => readRelatives(ports, run, script, members)),
  signal,
});
