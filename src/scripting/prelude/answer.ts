/**
 * What a handler answered, in the one form the host reads. Anything the slot cannot use is an error
 * that names the value: a wrong answer must not look like an empty one.
 */
import type {
  AnswerForm,
  EventValue,
  HandlerRow,
  MessageValue,
  MetadataValue,
  ResponseValue,
  ScheduleValue,
} from "../contract.ts";
import { describe } from "./describe.ts";
import { isBlank, ScriptAnswerException } from "./errors.ts";
import { isObject, setOwn } from "./json.ts";
import { TimerSchedule } from "./timer-schedule.ts";

export function normaliseAnswer(row: HandlerRow, value: unknown): unknown {
  if (row.nullable === true && (value === null || value === undefined)) return null;
  return readers[row.answer](value, row);
}

const readers: Record<AnswerForm, (value: unknown, row: HandlerRow) => unknown> = {
  response,
  boolean: (value, row) => {
    if (typeof value === "boolean") return value;
    throw unusable(row, "true or false", value);
  },
  schedule,
  json: (value) => value ?? null,
  message,
  metadata,
  event,
  items: (value, row) => {
    if (Array.isArray(value)) return value;
    if (isObject(value) && typeof value[Symbol.iterator as never] === "function") {
      return [...(value as unknown as Iterable<unknown>)];
    }
    throw unusable(row, "a list of items, or null", value);
  },
  text: (value, row) => {
    if (typeof value === "string") return isBlank(value) ? null : value;
    if (typeof value === "number") return String(value);
    throw unusable(row, "a text, or null", value);
  },
};

const responseMembers = [
  "Key",
  "Data",
  "Headers",
  "StatusCode",
  "RouteValues",
  "Tags",
  "ContentType",
] as const;

function response(value: unknown, row: HandlerRow): ResponseValue {
  if (!isObject(value ?? {})) throw unusable(row, "a ScriptResponse", value);
  const answer = (value ?? {}) as Record<string, unknown>;
  const names = Object.keys(answer);
  const [stranger] = names;
  if (stranger !== undefined && !responseMembers.some((name) => has(answer, name))) {
    throw new ScriptAnswerException(
      `${row.handler} must answer a ScriptResponse (Data, StatusCode, Headers, Key, Tags, RouteValues), but answered ${describe(value)}. To answer that as data, return { Data: … }.`,
    );
  }
  return {
    key: text(member(answer, "Key"), row, "Key"),
    data: member(answer, "Data") ?? null,
    headers: headers(answer, row),
    statusCode: statusCode(member(answer, "StatusCode"), row),
    routeValues: member(answer, "RouteValues") ?? null,
    tags: tags(member(answer, "Tags"), row),
  };
}

function statusCode(value: unknown, row: HandlerRow): number | null {
  if (value === null || value === undefined) return null;
  const code = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  if (typeof code === "number" && Number.isInteger(code) && code >= 100 && code <= 599) return code;
  throw unusable(row, "StatusCode as a number from 100 to 599", value);
}

function headers(answer: Record<string, unknown>, row: HandlerRow): Record<string, string> | null {
  const given = textMap(member(answer, "Headers"), row, "Headers");
  const contentType = text(member(answer, "ContentType"), row, "ContentType");
  if (contentType === null) return given;
  const named = Object.keys(given ?? {}).some((name) => name.toLowerCase() === "content-type");
  return named ? given : { ...given, "content-type": contentType };
}

function tags(value: unknown, row: HandlerRow): string[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.filter((tag) => !isBlank(tag)).map(String);
  if (typeof value === "string") return [value];
  throw unusable(row, "Tags as a list of texts", value);
}

function schedule(value: unknown, row: HandlerRow): ScheduleValue {
  if (value instanceof TimerSchedule) return value.toJSON();
  if (value instanceof Date) return TimerSchedule.FromDateTime(value).toJSON();
  if (isObject(value)) {
    const dueAt = member(value, "DueAt");
    if (typeof dueAt === "string") return TimerSchedule.FromDateTime(dueAt).toJSON();
    const delayMs = member(value, "DelayMs");
    if (typeof delayMs === "number") return TimerSchedule.FromDuration(delayMs).toJSON();
    const cron = member(value, "Cron");
    if (typeof cron === "string") return TimerSchedule.FromCronExpression(cron).toJSON();
  }
  throw unusable(row, "a TimerSchedule", value);
}

function message(value: unknown, row: HandlerRow): MessageValue {
  if (!isObject(value)) throw unusable(row, "a NotificationMessage, or null", value);
  const data = member(value, "Data");
  if (data === null || data === undefined) {
    throw unusable(row, "a NotificationMessage with Data", value);
  }
  return { data, ...metadata(value, row) };
}

function metadata(value: unknown, row: HandlerRow): MetadataValue {
  if (!isObject(value ?? {})) throw unusable(row, "a StateNotificationMetadata", value);
  const answer = (value ?? {}) as Record<string, unknown>;
  return {
    metadata: textMap(member(answer, "Metadata"), row, "Metadata") ?? {},
    operation: text(member(answer, "Operation"), row, "Operation") ?? "create",
  };
}

function event(value: unknown, row: HandlerRow): EventValue {
  if (!isObject(value)) throw unusable(row, "an EventMappingResult", value);
  return {
    instanceKey: text(member(value, "InstanceKey"), row, "InstanceKey"),
    body: member(value, "Body") ?? null,
    selector: member(value, "Selector") ?? null,
  };
}

/** Null values are left out; lists are joined, as one header line would be. */
function textMap(value: unknown, row: HandlerRow, name: string): Record<string, string> | null {
  if (value === null || value === undefined) return null;
  const entries = value instanceof Map ? [...value.entries()] : undefined;
  if (entries === undefined && !isObject(value)) {
    throw unusable(row, `${name} as an object of texts`, value);
  }
  const map: Record<string, string> = {};
  for (const [key, item] of entries ?? Object.entries(value)) {
    if (item === null || item === undefined) continue;
    const list = Array.isArray(item) ? item : [item];
    if (list.some((part) => typeof part === "object" || typeof part === "function")) {
      throw unusable(row, `${name}.${String(key)} as a text`, item);
    }
    setOwn(map, String(key), list.map(String).join(", "));
  }
  return map;
}

function text(value: unknown, row: HandlerRow, name: string): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw unusable(row, `${name} as a text`, value);
}

/** PascalCase first: it is the contract's own spelling. */
const member = (answer: Record<string, unknown>, name: string): unknown =>
  answer[name] ?? answer[name.charAt(0).toLowerCase() + name.slice(1)];

const has = (answer: Record<string, unknown>, name: string): boolean =>
  name in answer || name.charAt(0).toLowerCase() + name.slice(1) in answer;

const unusable = (row: HandlerRow, wanted: string, value: unknown) =>
  new ScriptAnswerException(
    `${row.handler} must answer ${wanted}, but answered ${describe(value)}.`,
  );
