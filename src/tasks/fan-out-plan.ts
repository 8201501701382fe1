/** What a fan-out is to do, read from its config; the items; and when the whole is a success. Pure. */
import { asObject, asText } from "../engine/definition/json.ts";
import {
  isExactNumber,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import { mostDataCharacters } from "../engine/transition/merge-into-run.ts";
import type { TaskConfig } from "./task-type.ts";

export type JoinPolicy = "all" | "allSettled" | "quorum" | "firstSuccess";

export interface FanOutPlan {
  readonly itemsPath: string | undefined;
  readonly parallel: number;
  readonly itemTimeoutMs: number;
  readonly batchTimeoutMs: number;
  readonly policy: JoinPolicy;
  readonly minSuccess: number;
  readonly resultKey: string;
  readonly ordered: boolean;
}

const policies: readonly JoinPolicy[] = ["all", "allSettled", "quorum", "firstSuccess"];

/** The config was checked at publish; what it leaves out has its default here. */
export function readPlan(config: TaskConfig): FanOutPlan {
  const execution = asObject(config["execution"]) ?? {};
  const join = asObject(config["join"]) ?? {};
  const policy = asText(join["policy"])?.toLowerCase();
  return {
    itemsPath: asText(config["itemsPath"])?.trim() || undefined,
    parallel: Math.min(positive(execution["maxDegreeOfParallelism"], 4), fanOutLimits.parallel),
    itemTimeoutMs: milliseconds(execution["itemTimeoutSeconds"], 30),
    batchTimeoutMs: milliseconds(execution["batchTimeoutSeconds"], 120),
    policy: policies.find((known) => known.toLowerCase() === policy) ?? "allSettled",
    minSuccess: positive(join["minSuccess"], 1),
    resultKey: asText(join["resultKey"])?.trim() || "fanOutResults",
    ordered: join["ordered"] !== false,
  };
}

/** What one fan-out may ask for: a list may come from a caller, and its answers from a stranger. */
export const fanOutLimits = {
  parallel: 64,
  items: 10_000,
  /** Of all results together, as JSON; the data of an instance could not hold more. */
  characters: mostDataCharacters,
} as const;

const positive = (value: unknown, otherwise: number): number =>
  typeof value === "number" && value > 0 ? value : otherwise;

/** Longer than any timer, and than any job. */
const longestMs = 2 ** 31 - 1;

const milliseconds = (seconds: unknown, otherwise: number): number =>
  Math.min(positive(seconds, otherwise) * 1000, longestMs);

export interface FanOutItem {
  readonly index: number;
  readonly value: JsonValue;
  readonly itemKey: string;
}

export const itemsOf = (values: readonly JsonValue[]): FanOutItem[] =>
  values.map((value, index) => ({ index, value, itemKey: keyIn(value) ?? String(index) }));

function keyIn(value: JsonValue): string | undefined {
  if (!isJsonObject(value)) return undefined;
  for (const name of ["id", "key"]) {
    const key = Object.hasOwn(value, name) ? value[name] : undefined;
    if (typeof key === "string" && key !== "") return key;
    if (typeof key === "number" || isExactNumber(key)) return String(key);
  }
  return undefined;
}

/** `$.orders.lines` in the data; undefined where there is nothing. */
export function valueAt(path: string, data: JsonValue | undefined): JsonValue | undefined {
  let value = data;
  for (const name of path.split(".").slice(1)) {
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

export interface ItemEnd {
  readonly item: FanOutItem;
  readonly isSuccess: boolean;
  readonly data: JsonValue | undefined;
  readonly errorCode?: string | undefined;
  readonly errorMessage?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly durationMs: number;
}

/** What more items cannot change any more: then the rest is cancelled. */
export const isDecidedBy = ({ policy }: FanOutPlan, { isSuccess }: ItemEnd): boolean =>
  (policy === "all" && !isSuccess) || (policy === "firstSuccess" && isSuccess);

export interface FanOutResult {
  readonly total: number;
  readonly succeeded: number;
  /** Timed out and cancelled ones included. */
  readonly failed: number;
  /** The batch as a whole ran out of time. */
  readonly timedOut: boolean;
  readonly ends: readonly ItemEnd[];
}

/** `ends` in the order in which the items ended. */
export function resultOf(
  { ordered }: FanOutPlan,
  ends: readonly ItemEnd[],
  timedOut: boolean,
): FanOutResult {
  const total = ends.length;
  const succeeded = ends.filter((end) => end.isSuccess).length;
  const shown = ordered ? ends.toSorted((a, b) => a.item.index - b.item.index) : ends;
  return { total, succeeded, failed: total - succeeded, timedOut, ends: shown };
}

/** Why the whole is a failure; undefined when it is none. */
export function shortfall(
  { policy, minSuccess }: FanOutPlan,
  { total, succeeded, failed, timedOut }: FanOutResult,
): string | undefined {
  const wanted = policy === "quorum" ? minSuccess : policy === "firstSuccess" ? 1 : 0;
  if (policy === "all" && (failed > 0 || timedOut)) {
    return `${failed} of ${total} items failed, and the policy 'all' needs every one.`;
  }
  if (succeeded >= wanted) return undefined;
  return `${succeeded} of ${total} items succeeded, and the policy '${policy}' needs ${wanted}.`;
}

/** The output without an output handler: one row per item, and a summary to branch on. */
export function packaged({ resultKey }: FanOutPlan, result: FanOutResult): JsonObject {
  const { total, succeeded, failed, timedOut } = result;
  return {
    [resultKey]: result.ends.map((end) => ({
      index: end.item.index,
      itemKey: end.item.itemKey,
      isSuccess: end.isSuccess,
      data: end.data ?? null,
      errorCode: end.errorCode ?? null,
      errorMessage: end.errorMessage ?? null,
      durationMs: end.durationMs,
    })),
    [`${resultKey}Summary`]: { total, succeeded, failed, timedOut },
  };
}

/** As `OutputHandler` gets it. */
export const forScript = (result: FanOutResult): Record<string, unknown> => ({
  Total: result.total,
  Succeeded: result.succeeded,
  Failed: result.failed,
  TimedOut: result.timedOut,
  Items: result.ends.map((end) => ({
    Index: end.item.index,
    ItemKey: end.item.itemKey,
    IsSuccess: end.isSuccess,
    Data: end.data ?? null,
    ErrorCode: end.errorCode ?? null,
    ErrorMessage: end.errorMessage ?? null,
    Duration: end.durationMs,
  })),
});
