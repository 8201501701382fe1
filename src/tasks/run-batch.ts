/**
 * The items of a fan-out, so many at a time. One that takes too long ends alone; the batch ends as a
 * whole when its own time is over, or when no further item can change the outcome.
 */
import { StepFailed, type TaskFailure } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import { isJsonObject, type JsonValue } from "../engine/exact-json.ts";
import { isDecidedBy, type FanOutItem, type FanOutPlan, type ItemEnd } from "./fan-out-plan.ts";
import { untilAborted } from "./until-aborted.ts";

export interface Batch {
  /** In the order in which the items ended. */
  readonly ends: readonly ItemEnd[];
  readonly timedOut: boolean;
}

export async function runBatch(
  plan: FanOutPlan,
  items: readonly FanOutItem[],
  signal: AbortSignal,
  runItem: (item: FanOutItem, signal: AbortSignal) => Promise<TaskOutcome>,
): Promise<Batch> {
  const ends: ItemEnd[] = [];
  const timeout = new AbortController();
  const decided = new AbortController();
  const timer = setTimeout(() => timeout.abort(), plan.batchTimeoutMs);
  const whole = AbortSignal.any([signal, timeout.signal, decided.signal]);

  const end = async (item: FanOutItem): Promise<ItemEnd> => {
    const startedAt = performance.now();
    const own = new AbortController();
    const ownTimer = setTimeout(() => own.abort(), plan.itemTimeoutMs);
    const itemSignal = AbortSignal.any([whole, own.signal]);
    const passed = () => Math.round(performance.now() - startedAt);
    try {
      itemSignal.throwIfAborted();
      const outcome = await untilAborted(runItem(item, itemSignal), itemSignal);
      return { ...endOf(outcome), item, durationMs: passed() };
    } catch (error) {
      signal.throwIfAborted();
      const reason = cutBy(plan, item, { own, timeout, decided });
      if (reason === undefined && !(error instanceof StepFailed)) throw error;
      const failure = reason ?? failed((error as StepFailed).failure);
      return { ...failure, item, durationMs: passed() };
    } finally {
      clearTimeout(ownTimer);
    }
  };

  const queue = items.values();
  const lane = async () => {
    for (const item of queue) {
      const ended = await end(item);
      ends.push(ended);
      if (isDecidedBy(plan, ended)) decided.abort();
    }
  };
  try {
    const lanes = Array.from({ length: Math.min(plan.parallel, items.length) }, lane);
    // An error that is no item's own ends all of it.
    await Promise.all(lanes);
    return { ends, timedOut: timeout.signal.aborted };
  } finally {
    clearTimeout(timer);
    decided.abort();
  }
}

type Failed = Pick<ItemEnd, "isSuccess" | "data" | "errorCode" | "errorMessage" | "retryable">;

const failed = ({ code, message, retryable }: TaskFailure, data?: JsonValue): Failed => ({
  isSuccess: false,
  data,
  errorCode: code,
  errorMessage: message,
  retryable,
});

function endOf({ response, failure }: TaskOutcome): Failed {
  const data = isJsonObject(response) ? (response["data"] ?? undefined) : undefined;
  return failure === undefined ? { isSuccess: true, data } : failed(failure, data);
}

/** Why an item was not let go on; its own time first, because a slow item is the cause of much else. */
function cutBy(
  plan: FanOutPlan,
  { itemKey }: FanOutItem,
  { own, timeout, decided }: Record<"own" | "timeout" | "decided", AbortController>,
): Failed | undefined {
  if (own.signal.aborted) {
    const seconds = plan.itemTimeoutMs / 1000;
    const message = `The item '${itemKey}' did not end within ${seconds} s (itemTimeoutSeconds).`;
    return cut("ItemTimeout", message, true);
  }
  if (timeout.signal.aborted) {
    const seconds = plan.batchTimeoutMs / 1000;
    const message = `The item '${itemKey}' had not ended when the batch's ${seconds} s were over (batchTimeoutSeconds).`;
    return cut("BatchTimeout", message, true);
  }
  if (decided.signal.aborted) {
    const message = `The item '${itemKey}' was cancelled: the policy '${plan.policy}' was decided without it.`;
    return cut("ItemCancelled", message, false);
  }
  return undefined;
}

const cut = (code: string, errorMessage: string, retryable: boolean): Failed => ({
  isSuccess: false,
  data: undefined,
  errorCode: `FanOut:${code}`,
  errorMessage,
  retryable,
});
