/** What the Dapr task types have in common: one request to the sidecar's HTTP API. */
import { isJsonObject, stringifyJson, type JsonValue } from "../engine/exact-json.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { headerIn, withHeader, type CallHeaders } from "./call-headers.ts";
import { jsonOrText } from "./json-or-text.ts";
import { oneLine } from "./one-line.ts";
import { callRemote, invalidRequest } from "./remote-call.ts";
import type { TaskAnswer, TaskCall, TaskPorts } from "./task-type.ts";

export interface DaprCall {
  /** The type's word in error codes: `DaprService`. */
  readonly name: string;
  readonly method: string;
  /** Below the sidecar's address. */
  readonly path: string;
  readonly headers?: Readonly<CallHeaders> | undefined;
  /** Undefined and null: nothing is sent. */
  readonly body: JsonValue | undefined;
  readonly metadata: Readonly<Record<string, JsonValue>>;
}

export async function callSidecar(
  { dapr, invocationTimeoutMs }: TaskPorts,
  call: TaskCall,
  { name, method, path, headers = {}, body, metadata }: DaprCall,
): Promise<TaskAnswer> {
  if (dapr === undefined) throw noSidecar(call, name);
  const answer = await callRemote({ http: dapr, invocationTimeoutMs }, call, {
    name,
    method,
    url: path,
    ...content(headers, method === "GET" || method === "HEAD" ? undefined : body),
    metadata,
    dataOf: jsonOrText,
  });
  return answer.isSuccess ? answer : withReason(answer);
}

function noSidecar({ key }: TaskCall, name: string): StepFailed {
  return new StepFailed({
    code: `Task:${name}:NotConfigured`,
    layer: "Task",
    task: key,
    taskType: name,
    message: `Task '${key}' needs a Dapr sidecar, and none is configured. Set Dapr.HttpEndpoint to the address of its HTTP API, such as http://127.0.0.1:3500.`,
    retryable: false,
  });
}

/** JSON, unless a content type of the task's own makes a text something else. */
function content(
  headers: Readonly<CallHeaders>,
  body: JsonValue | undefined,
): { headers: CallHeaders; body?: string } {
  if (body === undefined || body === null) return { headers: { ...headers } };
  const contentType = headerIn(headers, "Content-Type");
  const isText = typeof body === "string" && contentType !== undefined && !isJson.test(contentType);
  return {
    headers: withHeader(headers, "Content-Type", contentType ?? "application/json"),
    body: isText ? body : stringifyJson(body),
  };
}

const isJson = /^[^;]*\bjson\b/i;

/** The sidecar's own errors say more than their status does. */
function withReason(answer: TaskAnswer): TaskAnswer {
  const { data, errorMessage } = answer;
  if (!isJsonObject(data)) return answer;
  const { errorCode, message } = data;
  if (typeof errorCode !== "string" || typeof message !== "string") return answer;
  return {
    ...answer,
    errorMessage: `${errorMessage}. Dapr: ${oneLine(`${errorCode}, ${message}`)}`,
  };
}

/** The name of an application or of a component. An address would go past the rules for addresses. */
export function daprName(call: TaskCall, name: string, member: string): string {
  const value = textOf(call, name, member);
  if (/^[\w.-]+$/.test(value) && /\w/.test(value)) return value;
  throw invalidRequest(
    call,
    name,
    `its ${member} is '${oneLine(value)}'; a name has letters, digits, dots, dashes and underscores.`,
  );
}

export function textOf(call: TaskCall, name: string, member: string): string {
  const value = call.config[member];
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  throw invalidRequest(
    call,
    name,
    `its ${member} is missing. Set config.${member}, or set it in the input handler.`,
  );
}

/** A path of several segments, slashes kept. One that leads upwards would end in another API. */
export function pathBelow(call: TaskCall, name: string, member: string, path: string): string {
  // As the URL parser reads it, which drops tabs and line ends.
  const seen = path.replaceAll(/[\t\r\n]/g, "").replaceAll(/%2e/gi, ".");
  const segments = seen.split(/[/\\]|%2f|%5c/i);
  if (segments.some((segment) => segment === "." || segment === "..")) {
    throw invalidRequest(
      call,
      name,
      `its ${member} is '${oneLine(path)}'; a path must not have the segments '.' and '..'.`,
    );
  }
  return path.replace(/^\/+/, "");
}

/** `metadata` of a config: texts as they are, anything else as its JSON. */
export function metadataOf({ config }: TaskCall): Record<string, string> {
  const { metadata } = config;
  if (!isJsonObject(metadata)) return {};
  const given = Object.entries(metadata).flatMap(([key, value]): [string, string][] => {
    if (value === null) return [];
    return [[key, typeof value === "string" ? value : stringifyJson(value)]];
  });
  return Object.fromEntries(given);
}
