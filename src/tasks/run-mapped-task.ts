/**
 * What all types with the usual mapping have in common: the input handler on a copy of the task's
 * config, the call, the standard response for scripts, the output handler, and the failure that an
 * unsuccessful response is.
 */
import { variableName } from "../engine/definition/variable-name.ts";
import { isJsonObject, type JsonObject } from "../engine/exact-json.ts";
import type { TaskFailure } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import { mappingHandlers, type MappingHandlers } from "./mapping-handlers.ts";
import type { TaskInvocation } from "./task-host.ts";
import type { MappedTaskType, TaskAnswer, TaskConfig, TaskPorts, TaskType } from "./task-type.ts";

export const mapped = (type: MappedTaskType): TaskType => ({
  name: type.name,
  isEffectful: type.isEffectful,
  run: (ports, invocation) => runMappedTask(ports, type, invocation),
});

export async function runMappedTask(
  ports: TaskPorts,
  type: MappedTaskType,
  invocation: TaskInvocation,
): Promise<TaskOutcome> {
  const { definition, context, executionKey, signal, binding } = invocation;
  const { key } = definition;
  const name = variableName(key);
  const { mapping } = binding;
  // `type: "G"`: no script of its own. The task runs as configured, its data are its output.
  const handlers =
    mapping === undefined || mapping.type === "global"
      ? undefined
      : mappingHandlers(ports.scripts, invocation, mapping, type);
  const config = await inputOf(handlers, configOf(invocation));
  const startedAt = performance.now();
  const answer = await type.invoke(ports, {
    key,
    config,
    context,
    executionKey,
    signal,
    invocation,
  });
  signal.throwIfAborted();
  const response = standardResponse(type, answer, performance.now() - startedAt);
  const failure = answer.isSuccess ? undefined : failureOf(type, key, answer);
  const data =
    handlers === undefined ? rawOutput(answer) : await handlers.output({ name, value: response });
  return { name, response, data, failure, ...handlers?.effects() };
}

export const configOf = ({ definition }: TaskInvocation): TaskConfig =>
  (definition.attributes["config"] ?? {}) as TaskConfig;

const inputOf = (handlers: MappingHandlers | undefined, config: TaskConfig) =>
  handlers === undefined ? Promise.resolve(config) : handlers.input();

/** Without an output handler the data are the output; only an object can be merged. */
const rawOutput = ({ isSuccess, data }: TaskAnswer) =>
  isSuccess && isJsonObject(data) ? data : undefined;

/** Names as scripts read them; what is not there is left out, except `data`, which is then null. */
function standardResponse(
  { stamp }: MappedTaskType,
  { data, statusCode, isSuccess, errorMessage, headers, metadata, body }: TaskAnswer,
  elapsedMs: number,
): JsonObject {
  return {
    data: data ?? null,
    ...(statusCode === undefined ? {} : { statusCode }),
    isSuccess,
    ...(errorMessage === undefined ? {} : { errorMessage }),
    ...(headers === undefined ? {} : { headers }),
    ...(metadata === undefined ? {} : { metadata }),
    executionDurationMs: Math.round(elapsedMs),
    taskType: stamp,
    ...(body === undefined ? {} : { body }),
  };
}

const transientStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

function failureOf({ name }: MappedTaskType, key: string, answer: TaskAnswer): TaskFailure {
  const { statusCode, errorMessage, errorType } = answer;
  const retryable =
    answer.retryable ?? (statusCode !== undefined && transientStatuses.has(statusCode));
  return {
    code: `Task:${name}:${statusCode ?? "Exception"}`,
    layer: statusCode === undefined ? "Transport" : "Task",
    task: key,
    taskType: name,
    message: `Task '${key}' failed: ${errorMessage ?? "the answer is an error."}`,
    statusCode,
    errorType,
    retryable,
  };
}
