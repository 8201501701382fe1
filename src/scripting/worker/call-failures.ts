/** Why a call has no answer, in the words a script's author reads. */
import type { SandboxScript } from "../sandbox.ts";
import type { LimitHit } from "./limit-hit.ts";
import type { ThreadFailure } from "./messages.ts";
import { inAuthorNames } from "./module-names.ts";
import { placeOf } from "./script-trace.ts";

/** A call that has no answer. */
export class Failed extends Error {
  readonly failure: ThreadFailure;

  constructor(failure: ThreadFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

const failed = (script: SandboxScript, kind: ThreadFailure["kind"], message: string): Failed =>
  new Failed({ kind, message, scriptName: script.name });

export const tooDeep = (script: SandboxScript): Failed => failed(script, "stack", tooDeepMessage);
const tooDeepMessage = "The script calls itself too deeply.";

export const tooLong = (script: SandboxScript, bytes: number): Failed =>
  failed(script, "output", `The script's answer is longer than ${bytes} bytes.`);

export const neverSettles = (script: SandboxScript, what: string): Failed =>
  failed(script, "timeout", `The ${what} never settles: nothing is left that could settle it.`);

export const noAnswer = (script: SandboxScript): Failed =>
  failed(script, "threw", "The handler's answer is not JSON.");

export const brokeEngine = (script: SandboxScript): Failed =>
  failed(script, "crashed", "The script broke its engine.");

export function hitLimit(script: SandboxScript, { limit }: LimitHit): Failed {
  const message = {
    timeout: "The script runs longer than it may.",
    memory: "The script uses more memory than it may.",
    aborted: "The call was given up.",
  }[limit];
  return failed(script, limit, message);
}

/** From what `describe` inside the sandbox wrote. */
export function threw(script: SandboxScript, description: string): Failed {
  const { name, message, stack } = JSON.parse(description) as Record<
    "name" | "message" | "stack",
    string
  >;
  const helpers = script.helpers.map((helper) => helper.name);
  const place = placeOf(stack, script.name, helpers);
  const isOverflow = name === "InternalError" && message === "stack overflow";
  return new Failed({
    kind: isOverflow ? "stack" : "threw",
    message: isOverflow ? tooDeepMessage : inAuthorNames(message, helpers),
    scriptName: place?.scriptName ?? script.name,
    errorName: name,
    position: place?.position,
  });
}
