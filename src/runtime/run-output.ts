/**
 * The workflow's output script: what it answers is the HTTP response to a start or transition that
 * was waited for, in place of the standard envelope. A faulted instance is answered by the envelope,
 * so that a caller sees the fault; so is everything when the script fails.
 */
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { Transition, Workflow } from "../engine/definition/model.ts";
import { stringifyJson, type JsonValue } from "../engine/exact-json.ts";
import type { Author, Instance } from "../engine/instance.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import type { Program } from "../engine/transition/run.ts";
import type { ResponseValue } from "../scripting/contract.ts";
import type { InstancePorts } from "./instances.ts";
import { loadProgram } from "./load-program.ts";
import { payloadOf, type PayloadRequest } from "./payload-of.ts";
import { scriptContext } from "./script-context.ts";

export interface OutputResponse {
  /** Undefined: no body. */
  body: string | undefined;
  statusCode: number;
  headers: Readonly<Record<string, string>>;
  contentType: string;
}

export interface AnsweredRequest extends PayloadRequest {
  transitionKey?: string;
  author: Author;
  headers: Readonly<Record<string, string>>;
}

export async function runOutput(
  ports: InstancePorts,
  request: AnsweredRequest,
  instance: Instance,
): Promise<OutputResponse | undefined> {
  if (instance.status === "F") return undefined;
  const { domain, flow: workflow, flowVersion: version } = instance;
  const program = await loadProgram(ports.catalogue, { domain, workflow, version });
  const { output } = program.workflow;
  if (output === undefined || output.type === "global") return undefined;
  try {
    return await answer(ports, program, output, request, instance);
  } catch (error) {
    ports.onTrouble("OutputScriptFailed", error);
    return undefined;
  }
}

async function answer(
  ports: InstancePorts,
  program: Program,
  script: ScriptCode,
  request: AnsweredRequest,
  instance: Instance,
): Promise<OutputResponse> {
  const transition = transitionOf(program.workflow, request.transitionKey);
  const { author, headers } = request;
  const payload = payloadOf(program, request);
  const run = beginRun(
    { kind: "state", trigger: "manual", payload, author, headers },
    { program, instance, transition },
    ports.tools,
  );
  // The script sees the instance as it rests, not a hop that is about to begin.
  const context = scriptContext({ ...run, instance });
  const { helpers } = program.workflow;
  const { value } = await ports.scripts.run("output", { script, helpers, context });
  return toResponse(value as ResponseValue);
}

function transitionOf(workflow: Workflow, key: string | undefined): Transition {
  if (key === undefined) return workflow.startTransition;
  const all = [
    ...[...workflow.states.values()].flatMap((state) => state.transitions),
    ...workflow.sharedTransitions,
    ...[workflow.cancel, workflow.exit, workflow.updateData].filter((t) => t !== undefined),
  ];
  return all.find((t) => t.key === key) ?? workflow.startTransition;
}

/** Never taken from a script: they belong to the connection, not to the answer. */
const hopByHop = new Set(
  "connection content-length content-type date host keep-alive proxy-authenticate proxy-authorization server te trailer transfer-encoding upgrade".split(
    " ",
  ),
);

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// oxlint-disable-next-line no-control-regex -- control characters are what it keeps out
const control = /[\u0000-\u0008\u000A-\u001F\u007F]|[^\u0000-\u00FF]/;

/** Exported for its table of tests. */
export function toResponse({ data, headers, statusCode }: ResponseValue): OutputResponse {
  const status = statusCode ?? 200;
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError(`The output script answers the status ${status}; allowed are 200 to 599.`);
  }
  let contentType = "application/json";
  const kept: Record<string, string> = {};
  for (const [given, value] of Object.entries(headers ?? {})) {
    const name = given.toLowerCase();
    if (!token.test(name) || control.test(value)) {
      throw new TypeError(
        `The output script sets the header '${name.slice(0, 80)}' to what no header may hold.`,
      );
    }
    if (name === "content-type") contentType = value;
    else if (!hopByHop.has(name)) kept[name] = value;
  }
  const body = data === null || data === undefined ? undefined : bodyText(data);
  return { body, statusCode: status, headers: kept, contentType };
}

/** A text is the body itself; anything else is written as JSON. */
const bodyText = (data: unknown) =>
  typeof data === "string" ? data : stringifyJson(data as JsonValue);
