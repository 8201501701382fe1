/**
 * What the task types that reach other instances have in common: where to, on whose behalf, for how
 * long, and how an answer, or none, becomes a `TaskAnswer`.
 *
 * A task acts as the caller of the request that led to it. Its own headers may say otherwise, as they
 * may towards another runtime.
 */
import type { Component } from "../engine/component.ts";
import { asText } from "../engine/definition/json.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import { isJsonObject, type JsonValue } from "../engine/exact-json.ts";
import { identityHeaders } from "../engine/identity-headers.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { OutgoingFailed } from "../outgoing/http-client.ts";
import { isAcceptedStatus } from "./accepted-status.ts";
import { callHeaders, configuredHeaders, withHeader } from "./call-headers.ts";
import { type FlowAnswer, type FlowCall, UnknownDomain } from "./flow-port.ts";
import { timeoutOf } from "./remote-call.ts";
import { statusName } from "./status-name.ts";
import type { TaskAnswer, TaskCall, TaskConfig, TaskPorts } from "./task-type.ts";
import { untilAborted } from "./until-aborted.ts";

/** One type's word in error codes, and what scripts read in `metadata` beside domain and flow. */
export interface FlowTask {
  readonly name: string;
  readonly metadata?: Readonly<Record<string, JsonValue>>;
}

export async function callFlow(
  ports: TaskPorts,
  call: TaskCall,
  task: FlowTask,
  perform: (flow: FlowCall) => Promise<FlowAnswer>,
): Promise<TaskAnswer> {
  const { config, context, executionKey } = call;
  const domain = required(call, task, "domain");
  const workflow = required(call, task, "flow");
  const timeoutMs = timeoutOf(config["timeoutSeconds"], ports.invocationTimeoutMs);
  const metadata = { TaskType: task.name, Domain: domain, Flow: workflow, ...task.metadata };
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  const signal = AbortSignal.any([call.signal, timeout.signal]);
  try {
    // What was asked goes on all the same; a repeat finds what came of it.
    const answer = await untilAborted(
      perform({
        domain,
        workflow,
        headers: callHeaders(call, headersOf(call)),
        traceId: context.traceId,
        executionKey,
        triggerDepth: context.triggerDepth + 1,
        validateTls: config["validateSsl"] !== false,
        timeoutMs,
        signal,
      }),
      signal,
    );
    return toTaskAnswer(answer, metadata, config["acceptedStatusCodes"]);
  } catch (error) {
    call.signal.throwIfAborted();
    if (timeout.signal.aborted) return tookTooLong(domain, workflow, timeoutMs, metadata);
    return withoutAnswer(call, task, error, metadata);
  } finally {
    clearTimeout(timer);
  }
}

/** The failure of a task that asked nothing, because it says nothing that could be asked. */
export const notAsked = (
  { key }: TaskCall,
  { name }: FlowTask,
  reason: string,
  message: string,
  cause?: unknown,
): StepFailed =>
  new StepFailed(
    {
      code: `Task:${name}:${reason}`,
      layer: "Task",
      task: key,
      taskType: name,
      message: `Task '${key}' was not sent: ${message}`,
      retryable: false,
    },
    { cause },
  );

export function required(call: TaskCall, task: FlowTask, member: string): string {
  const text = textIn(call.config, member);
  if (text !== undefined) return text;
  const message = `'${member}' is empty. Set it in the task's config or in its input handler.`;
  throw notAsked(call, task, "InvalidRequest", message);
}

/** Blank counts as absent. */
export function textIn(config: TaskConfig, member: string): string | undefined {
  const text = asText(config[member])?.trim();
  return text === "" ? undefined : text;
}

export const textsIn = (config: TaskConfig, member: string): string[] =>
  [config[member]]
    .flat()
    .filter((item) => typeof item === "string" && item.trim() !== "") as string[];

/** By id, by key, else the instance the task runs for. */
export function targetOf(call: TaskCall, task: FlowTask): string {
  const { config, context } = call;
  const target = textIn(config, "instanceId") ?? textIn(config, "key") ?? context.instance?.id;
  if (target !== undefined) return target;
  const message =
    "neither 'instanceId' nor 'key' is set, and there is no instance of its own. Set one of them.";
  throw notAsked(call, task, "InvalidRequest", message);
}

/** A read may leave the process unless it stays in the domain of the task itself, for certain. */
export function leavesDomain(
  { domain, attributes }: Component,
  mapping: ScriptCode | undefined,
): boolean {
  const config = (attributes["config"] ?? {}) as TaskConfig;
  if ((textIn(config, "domain") ?? domain) !== domain) return true;
  if (mapping === undefined || mapping.type === "global") return false;
  return mapping.ref !== undefined || mapping.code.includes("SetDomain");
}

/** Who acts is known, whatever headers the request had; they only add what nothing else says. */
function headersOf({ config, context }: TaskCall): Record<string, string> {
  const { author, roles } = context;
  const known = { act_sub: author.actor, sub: author.behalfOf, role: roles.join(",") || undefined };
  const beside = Object.entries(context.headers).filter(
    ([name]) => identityHeaders.has(name) && !(name in known),
  );
  let headers = Object.fromEntries(beside);
  for (const [name, value] of Object.entries(known)) headers = withHeader(headers, name, value);
  for (const [name, value] of Object.entries(configuredHeaders(config["headers"]))) {
    headers = withHeader(headers, name, value);
  }
  return headers;
}

type Metadata = Readonly<Record<string, JsonValue>>;

function toTaskAnswer(answer: FlowAnswer, metadata: Metadata, accepted: unknown): TaskAnswer {
  const { status, data, headers, errorCode, errorMessage } = answer;
  const isSuccess = isAcceptedStatus(status, accepted);
  return {
    data,
    statusCode: status,
    isSuccess,
    headers,
    metadata: {
      ...metadata,
      ReasonPhrase: statusName(status),
      ...(errorCode === undefined ? {} : { ErrorCode: errorCode }),
    },
    ...(isSuccess
      ? {}
      : { errorMessage: `HTTP ${statusName(status)}: ${errorMessage ?? ""}`.trim() }),
  };
}

function tookTooLong(
  domain: string,
  workflow: string,
  timeoutMs: number,
  metadata: Metadata,
): TaskAnswer {
  const errorType = "TaskCanceledException";
  return {
    data: undefined,
    isSuccess: false,
    errorMessage: `${domain}/${workflow} did not answer within ${timeoutMs / 1000} s. Raise 'timeoutSeconds' (and ExecutionApi.InvocationTimeoutSeconds, its ceiling), or do not wait (sync false).`,
    metadata: { ...metadata, ExceptionType: errorType, Cancelled: true },
    errorType,
    retryable: true,
  };
}

function withoutAnswer(
  call: TaskCall,
  task: FlowTask,
  error: unknown,
  metadata: Metadata,
): TaskAnswer {
  if (error instanceof UnknownDomain) {
    throw notAsked(call, task, "UnknownDomain", error.message, error);
  }
  if (!(error instanceof OutgoingFailed)) throw error;
  if (error.reason === "refused" || error.reason === "badRequest") {
    throw notAsked(call, task, "InvalidRequest", error.message, error);
  }
  const errorType = error.reason === "timeout" ? "TaskCanceledException" : "HttpRequestException";
  return {
    data: undefined,
    isSuccess: false,
    errorMessage: error.message,
    metadata: { ...metadata, ExceptionType: errorType },
    errorType,
    retryable: error.isRetryable,
  };
}

/** Real scripts read `instanceId` as well as `id`. */
export const withInstanceId = (answer: TaskAnswer): TaskAnswer =>
  isJsonObject(answer.data) && typeof answer.data["id"] === "string"
    ? { ...answer, data: { ...answer.data, instanceId: answer.data["id"] } }
    : answer;
