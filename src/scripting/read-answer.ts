/**
 * Reads a script's answer. The prelude has put it into this form, but inside the sandbox the prelude
 * is no safer than the script that shares its world: nothing is believed that was not looked at.
 */
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from "../engine/exact-json.ts";
import { findUnstorable } from "../engine/storable-json.ts";
import {
  handlers,
  limits,
  logLevels,
  type AnswerForm,
  type HandlerKind,
  type HandlerRow,
  type LogEntry,
  type LogLevel,
  type ScriptAnswer,
} from "./contract.ts";

/** As deep as any JSON the service takes. */
const maxDepth = 64;

/** The text is not an answer of that kind. Only a script that means harm gets this far. */
export class InvalidAnswer extends Error {
  override readonly name = "InvalidAnswer";
}

export function readAnswer(kind: HandlerKind, text: string): ScriptAnswer {
  const row: HandlerRow = handlers[kind];
  const answer = parsed(text);
  check(isJsonObject(answer), "an object");
  const value = answer["value"] ?? null;
  const mayBeNull = row.nullable === true || row.optional === true;
  if (!(mayBeNull && value === null)) check(forms[row.answer](value), `value as ${row.answer}`);
  for (const name of ["task", "metaData", "taskResponse", "outputResponse"]) {
    check(isOptional(answer[name], isJsonObject), `${name} as an object`);
  }
  check(isOptional(answer["stage"], isStage), "stage as a short text");
  const { logs, logsDropped, ...rest } = answer;
  return {
    ...rest,
    value,
    ...(Array.isArray(logs) ? { logs: logs.filter(isLogEntry).slice(0, limits.logEntries) } : {}),
    ...(typeof logsDropped === "number" ? { logsDropped } : {}),
  };
}

function parsed(text: string): JsonValue {
  try {
    return parseJson(text, maxDepth);
  } catch (error) {
    throw new InvalidAnswer(`The script's answer cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function check(isRight: boolean, wanted: string): asserts isRight {
  if (!isRight) throw new InvalidAnswer(`The script's answer must have ${wanted}.`);
}

type Form = (value: JsonValue) => boolean;

const isText: Form = (value) => typeof value === "string";
const isNullable =
  (form: Form): Form =>
  (value) =>
    value === null || form(value);
const isOptional = (value: JsonValue | undefined, form: Form): boolean =>
  value === undefined || form(value);
const isTextMap: Form = (value) => isJsonObject(value) && Object.values(value).every(isText);
const isTextList: Form = (value) => Array.isArray(value) && value.every(isText);
const isStage: Form = (value) =>
  value === null ||
  (typeof value === "string" &&
    value.length <= limits.stageLength &&
    findUnstorable(value) === undefined);
const isStatusCode: Form = (value) =>
  typeof value === "number" && Number.isInteger(value) && value >= 100 && value <= 599;
const isMetadata = (value: JsonValue): value is JsonObject =>
  isJsonObject(value) && isTextMap(value["metadata"] ?? null) && isText(value["operation"] ?? null);

const isLogEntry = (entry: JsonValue): entry is JsonValue & LogEntry =>
  isJsonObject(entry) &&
  logLevels.includes(entry["level"] as LogLevel) &&
  typeof entry["message"] === "string";

const forms: Record<AnswerForm, Form> = {
  json: () => true,
  boolean: (value) => typeof value === "boolean",
  text: isText,
  items: (value) => Array.isArray(value),
  response: (value) =>
    isJsonObject(value) &&
    isNullable(isText)(value["key"] ?? null) &&
    isNullable(isTextMap)(value["headers"] ?? null) &&
    isNullable(isStatusCode)(value["statusCode"] ?? null) &&
    isTextList(value["tags"] ?? null),
  schedule: (value) =>
    isJsonObject(value) &&
    (isText(value["cron"] ?? null) ||
      (typeof value["delayMs"] === "number" && value["delayMs"] > 0) ||
      (typeof value["dueAt"] === "string" && !Number.isNaN(Date.parse(value["dueAt"])))),
  metadata: isMetadata,
  message: (value) => isMetadata(value) && (value["data"] ?? null) !== null,
  event: (value) => isJsonObject(value) && isNullable(isText)(value["instanceKey"] ?? null),
};
