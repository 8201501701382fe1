/**
 * The flows of our own domain, for tasks: the same checks, roles and answers as over HTTP, without
 * it. A refusal becomes an answer with its status; trouble of the process itself stays an error.
 */
import { isComponentKind } from "../engine/component-kind.ts";
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from "../engine/exact-json.ts";
import { rolesIn } from "../engine/identity-headers.ts";
import { maskedHeaders } from "../engine/mask-secrets.ts";
import { PayloadError, resolvePayload } from "../engine/payload-mode.ts";
import { PayloadRejected } from "../engine/payload-rejected.ts";
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import { findUnstorable } from "../engine/storable-json.ts";
import { type InstanceQuery, maxPageSizeOfTasks } from "../engine/instance-query/instance-query.ts";
import type { Origin } from "../engine/instance.ts";
import type {
  FlowAnswer,
  FlowCall,
  Flows,
  ReadCall,
  StartCall,
  SubProcessCall,
} from "../tasks/flow-port.ts";
import type { Asker } from "./asker.ts";
import type { Viewer } from "./check-roles.ts";
import { dataJson, instanceJson, type InstanceOutput, type ReadOutput } from "./instance-output.ts";
import type { Instances, Outcome } from "./instances.ts";
import type { ListOutcome } from "./list-instances.ts";
import { listJson, parseListQuery } from "./list-output.ts";
import { outcomeJson } from "./outcome-output.ts";
import { readInstance, type ReadPorts } from "./read-instance.ts";

export interface LocalFlowPorts extends ReadPorts {
  readonly instances: Instances;
  listInstances(
    wanted: { domain: string; workflow: string },
    query: InstanceQuery,
    viewer: Viewer,
  ): Promise<ListOutcome>;
}

export function createLocalFlows(ports: LocalFlowPorts): Flows {
  const { instances } = ports;

  const start = (call: StartCall, origin?: Origin) =>
    answered(async () => {
      const { domain, workflow, version, sync, triggerDepth, instanceId: id } = call;
      refuseSystemFlow(call);
      const asked = requestOf(call, call.key, "start");
      const wanted = { id, domain, workflow, version, sync, triggerDepth, origin };
      const outcome = await instances.start({ ...asked, ...wanted });
      return outcomeAnswer(outcome, instances, viewerOf(call));
    });

  const read = async (
    call: ReadCall,
    toJson: (output: InstanceOutput, read: ReadOutput) => string,
  ): Promise<string> => {
    const { domain, workflow, instance, extensions } = call;
    const wanted = { domain, workflow, instance, version: undefined };
    const { output, eTag, instance: of } = await readInstance(ports, wanted, viewerOf(call));
    const added =
      of === undefined || extensions.length === 0
        ? {}
        : await instances.extensions(of, extensions, askerOf(call));
    return toJson(output, { eTag, extensionsText: stringifyJson(added) });
  };

  return {
    start: (call) => start(call),
    startSubProcess: (call) => start(call, originOf(call)),
    transition: (call) =>
      answered(async () => {
        const { domain, workflow, instance, transitionKey, sync, triggerDepth } = call;
        refuseSystemFlow(call);
        const { key: idempotencyKey, ...asked } = requestOf(call, call.executionKey, "transition");
        const wanted = { domain, workflow, instance, transitionKey, sync, triggerDepth };
        const outcome = await instances.transition({
          ...asked,
          ...wanted,
          idempotencyKey,
          receivedAt: performance.now(),
        });
        return outcomeAnswer(outcome, instances, viewerOf(call));
      }),
    getData: (call) => answered(async () => found(await read(call, dataJson))),
    getInstance: (call) => answered(async () => found(await read(call, instanceJson))),
    listInstances: (call) =>
      answered(async () => {
        const query = parseListQuery(call.query, maxPageSizeOfTasks);
        const list = await ports.listInstances(call, query, viewerOf(call));
        const { sort, filter } = call.query;
        const others = Object.entries({ sort, filter }).filter(
          (entry): entry is [string, string] => entry[1] !== undefined,
        );
        return found(listJson(call, query, list, others));
      }),
  };
}

/** Nobody waits for it, but its parent knows that it is there. */
function originOf({ parent, correlationId }: SubProcessCall): Origin | undefined {
  if (parent === undefined) return undefined;
  const { id, domain, flow, flowVersion: version, current } = parent;
  return {
    correlationId,
    type: "P",
    parent: { id, domain, flow, version, state: current.key },
    ancestors: [],
  };
}

function refuseSystemFlow({ domain, workflow }: FlowCall): void {
  if (isComponentKind(workflow)) throw problems.systemFlowNotStartable({ domain, workflow });
}

/** What is sent, checked like the envelope of a request, and who sends it. */
function requestOf(
  call: FlowCall & { tags: readonly string[]; body: JsonValue | undefined },
  key: string | undefined,
  kind: "start" | "transition",
) {
  const sent: JsonObject = {
    ...(key === undefined ? {} : { key }),
    tags: [...call.tags],
    attributes: call.body ?? {},
  };
  const unstorable = findUnstorable(sent);
  if (unstorable !== undefined) {
    const errors = { [unstorable.path]: [unstorable.reason] };
    throw problems.requestInvalid({ part: "body", count: 1 }, { errors });
  }
  const resolved = resolvePayload(sent, "standard", kind);
  if (resolved instanceof PayloadError) {
    const count = Object.values(resolved.errors).flat().length;
    throw problems.requestInvalid({ part: "body", count }, { errors: resolved.errors });
  }
  const { author, roles, request } = viewerOf(call);
  const { tags = [], stage, attributes } = resolved;
  return {
    key: resolved.key,
    payload: { attributes, tags, stage },
    author,
    roles,
    headers: maskedHeaders(request.headers),
    traceId: call.traceId,
    signal: () => call.signal,
  };
}

/** Whom the task acts for: what they may not see, the task does not get either. */
function viewerOf({ headers: given, domain, workflow }: FlowCall) {
  const named = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]);
  const headers = Object.fromEntries(named) as Record<string, string>;
  return {
    author: { actor: nonBlank(headers["act_sub"]), behalfOf: nonBlank(headers["sub"]) },
    roles: rolesIn(headers["role"]),
    request: { headers, query: {}, route: { domain, workflow }, transitionKey: undefined },
  } satisfies Viewer;
}

function askerOf(call: ReadCall): Asker {
  const { domain, workflow, instance, traceId, triggerDepth, signal } = call;
  const viewer = viewerOf(call);
  return {
    viewer,
    headers: maskedHeaders(viewer.request.headers),
    query: {},
    route: { domain, workflow, instance },
    language: undefined,
    traceId,
    triggerDepth,
    signal,
  };
}

const nonBlank = (text: string | undefined) => text?.trim() || undefined;

/** Always the envelope: an output script is for those who call from outside. */
const outcomeAnswer = async (
  { instance, accepted }: Outcome,
  { sightOf }: Instances,
  viewer: Viewer,
): Promise<FlowAnswer> => ({
  status: accepted ? 202 : 200,
  data: parseJson(await outcomeJson({ instance, accepted }, sightOf, viewer)),
});

const found = (json: string): FlowAnswer => ({ status: 200, data: parseJson(json) });

async function answered(work: () => Promise<FlowAnswer>): Promise<FlowAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem) return refusal(error);
    if (error instanceof PayloadRejected) return rejection(error);
    throw error;
  }
}

function refusal({
  status,
  title,
  message: detail,
  errorCode,
  errors,
  target,
}: Problem): FlowAnswer {
  const data = {
    title,
    status,
    detail,
    errorCode,
    ...(target === undefined ? {} : { target }),
    ...(errors === undefined ? {} : { errors }),
  };
  return { status, data, errorCode, errorMessage: detail };
}

function rejection({ message, target, errors }: PayloadRejected): FlowAnswer {
  const code = "App:900002";
  const validationErrors = errors.map((e) => ({ message: e.message, members: [e.path] }));
  const data = { error: { prefix: "validation", code, message, target, validationErrors } };
  const list = errors.map((e) => `${e.path} ${e.message}`).join("; ");
  return { status: 400, data, errorCode: `validation.${code}`, errorMessage: `${message} ${list}` };
}
