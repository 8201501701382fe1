/**
 * The tasks of a function and its output script, and the answer they make.
 *
 * With `rawResponse` the data are the body, with the status and headers that the script or the only
 * task gives. Without it they stand in an object, under the function's name, and the status is 200.
 */
import type { FunctionDefinition } from "../engine/definition/normalise-function.ts";
import { variableName } from "../engine/definition/variable-name.ts";
import {
  isJsonObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import type { Reading } from "../runtime/read-context.ts";
import { outputOf } from "../runtime/run-extensions.ts";
import { toResponse } from "../runtime/run-output.ts";
import { runReadTasks, scriptOf, type TasksRun } from "../runtime/run-read-tasks.ts";
import type { ResponseValue } from "../scripting/contract.ts";
import { answerJson, type FunctionAnswer } from "./function-answer.ts";
import { readingOfCall, type FunctionCall } from "./function-call.ts";

type Result = Pick<ResponseValue, "statusCode" | "headers"> & { data: JsonValue | undefined };

export async function runFunction(
  ports: FunctionPorts,
  definition: FunctionDefinition,
  call: FunctionCall,
): Promise<FunctionAnswer> {
  const ran = await runTasks(ports, definition, readingOfCall(definition, call));
  const result = await resultOf(ports, definition, ran);
  if (definition.rawResponse) return rawAnswer(definition, result);
  return answerJson(stringifyJson({ [variableName(definition.key)]: result.data ?? null }));
}

async function runTasks(
  ports: FunctionPorts,
  { key, tasks, helpers }: FunctionDefinition,
  reading: Reading,
): Promise<TasksRun> {
  try {
    return await runReadTasks(ports, { groups: tasks, helpers }, reading);
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    const { code, message } = error.failure;
    // The code of what failed says more than that of the function.
    const row = { ...problems.functionFailed.row, code };
    const detail = row.detail({ key, reason: message });
    throw new Problem(row, detail, { target: key, cause: error });
  }
}

async function resultOf(
  ports: FunctionPorts,
  { key, output, tasks, helpers }: FunctionDefinition,
  { reading, last, reply }: TasksRun,
): Promise<Result> {
  if (output !== undefined) {
    try {
      const { value } = await ports.scripts.run("output", scriptOf(reading, helpers, output));
      const { data, statusCode, headers } = value as ResponseValue;
      return { data: data as JsonValue | undefined, statusCode, headers };
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      throw failed(key, error.failure.message, error);
    }
  }
  const isOnly = tasks.reduce((count, group) => count + group.tasks.length, 0) === 1;
  if (!isOnly || last === undefined) {
    return { data: reading.outputResponses as JsonObject, statusCode: null, headers: null };
  }
  const response = isJsonObject(last.response) ? last.response : {};
  return {
    data: unwrapped(outputOf(last)),
    statusCode: reply?.statusCode ?? statusIn(response),
    headers: reply?.headers ?? headersIn(response),
  };
}

/** A mapping that passes a task's response on means its data. */
const unwrapped = (data: JsonValue | undefined): JsonValue | undefined =>
  isJsonObject(data) && Object.hasOwn(data, "data") ? data["data"] : data;

const statusIn = ({ statusCode }: JsonObject): number | null =>
  typeof statusCode === "number" ? statusCode : null;

/**
 * What is not passed on of another server's answer: how it came over the wire, and what only the server
 * that a browser talks to may say: cookies, who may read, what a page may do. A script may say these.
 */
const ofTheServer = new Set(
  "content-encoding vary set-cookie set-cookie2 clear-site-data strict-transport-security alt-svc refresh content-security-policy content-security-policy-report-only permissions-policy report-to reporting-endpoints nel service-worker-allowed x-content-type-options x-frame-options x-xss-protection x-app-version x-request-id x-trace-id x-span-id x-trace-state traceparent tracestate api-supported-versions".split(
    " ",
  ),
);

const isOfTheServer = (name: string): boolean =>
  ofTheServer.has(name) || /^(?:access-control|cross-origin)-/.test(name);

function headersIn({ headers }: JsonObject): Record<string, string> | null {
  if (!isJsonObject(headers)) return null;
  return Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === "string" && !isOfTheServer(entry[0].toLowerCase()),
    ),
  );
}

function rawAnswer({ key }: FunctionDefinition, result: Result): FunctionAnswer {
  try {
    return toResponse({ ...result, key: null, routeValues: null, tags: [] });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw failed(key, error.message, error);
  }
}

const failed = (key: string, reason: string, cause: unknown): Problem =>
  problems.functionFailed({ key, reason }, { target: key, cause });
