/** The parts of a workflow that several others have: labels, roles, tasks, slots, boundaries. */
import { ComponentKind } from "../component-kind.ts";
import { schemaSlot, slotEntries, type SlotKind, viewSlot } from "./check-slot.ts";
import { backoffType, errorAction, grant, versionStrategy } from "./enumerations.ts";
import type { VersionStrategy } from "./enumerations.ts";
import { parseIsoDuration } from "./iso-duration.ts";
import { asList, asObject, asObjects, asText, type JsonObject } from "./json.ts";
import type {
  ErrorBoundary,
  ErrorRule,
  Label,
  LongPoll,
  RetryPolicy,
  RoleGrant,
  SchemaEntry,
  TaskBinding,
  TaskGroup,
  ViewEntry,
} from "./model.ts";
import { readReference } from "./reference.ts";
import { readScriptCode } from "./script-code.ts";

/** The component a part belongs to: references without a domain mean its domain. */
export interface Owner {
  readonly domain: string;
}

export const defaultPriority = 100;
const defaultRetry: RetryPolicy = {
  initialDelayMs: 1000,
  maxRetries: 3,
  backoffType: "exponential",
  backoffMultiplier: 2,
  maxDelayMs: 300_000,
  useJitter: true,
};
const defaultFallbackSeconds = 60;

export const normaliseStrategy = (value: unknown): VersionStrategy =>
  versionStrategy.read(value) ?? "patch";

export function normaliseLabels(value: unknown, fallback: string): readonly Label[] {
  const labels = asObjects(value).map((item) => ({
    label: asText(item["label"]) ?? fallback,
    language: asText(item["language"]),
  }));
  return labels.length > 0 ? labels : [{ label: fallback, language: undefined }];
}

export function normaliseRoles(value: unknown): readonly RoleGrant[] {
  return asObjects(value).map((item) => {
    const role = asText(item["role"]);
    const all = roleNames(item["allOf"]);
    return {
      grant: grant.read(item["grant"]) ?? "deny",
      match: role === undefined && all.length > 0 ? "all" : "any",
      roles: role === undefined ? (all.length > 0 ? all : roleNames(item["anyOf"])) : [role],
    };
  });
}

const roleNames = (list: unknown): readonly string[] =>
  asObjects(list).flatMap((child) => asText(child["role"]) ?? []);

export function normaliseAnnotations(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(asObject(value) ?? {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );
}

/** Groups in order; inside one, the order of the definition. */
export function normaliseTasks(value: unknown, owner: Owner): readonly TaskGroup[] {
  const groups = new Map<number, TaskBinding[]>();
  for (const [i, item] of asObjects(value).entries()) {
    const binding = normaliseTask(item, i + 1, owner);
    if (binding === undefined) continue;
    const group = groups.get(binding.order);
    if (group === undefined) groups.set(binding.order, [binding]);
    else group.push(binding);
  }
  return [...groups].toSorted(([a], [b]) => a - b).map(([order, tasks]) => ({ order, tasks }));
}

export function normaliseTask(
  item: JsonObject,
  position: number,
  owner: Owner,
): TaskBinding | undefined {
  const task = readReference(item["task"], owner, ComponentKind.task);
  if (task === undefined) return undefined;
  return {
    order: asNumber(item["order"]) ?? position,
    task,
    mapping: readScriptCode(item["mapping"], owner),
    errorBoundary: normaliseErrorBoundary(item["errorBoundary"]),
  };
}

export const normaliseSchemas = (value: unknown, owner: Owner): readonly SchemaEntry[] =>
  normaliseSlot(value, schemaSlot, owner);

/** `view` and the older `views` beside it mean the same; `views` comes first when both are given. */
export function normaliseViews(holder: JsonObject, owner: Owner): readonly ViewEntry[] {
  const views = normaliseSlot(holder["views"], viewSlot, owner);
  return views.length > 0 ? views : normaliseSlot(holder["view"], viewSlot, owner);
}

function normaliseSlot(value: unknown, slot: SlotKind, owner: Owner): readonly ViewEntry[] {
  return slotEntries("", value, slot).flatMap(({ entry }) => {
    const reference = readReference(entry[slot.member], owner, slot.kind);
    if (reference === undefined) return [];
    return [
      {
        rule: readScriptCode(entry["rule"], owner),
        reference,
        loadData: entry["loadData"] === true,
        extensions: asList(entry["extensions"]).filter((name) => typeof name === "string"),
      },
    ];
  });
}

export function normaliseErrorBoundary(value: unknown): ErrorBoundary | undefined {
  const boundary = asObject(value);
  if (boundary === undefined) return undefined;
  const rules = [
    ...onTimeoutRule(boundary["onTimeout"]),
    ...asObjects(boundary["onError"]).map(normaliseErrorRule),
  ];
  if (rules.length === 0) return undefined;
  // Sorting is stable: what is equally urgent and equally specific is asked as it is declared.
  return {
    onError: rules.toSorted((a, b) => a.priority - b.priority || specificity(b) - specificity(a)),
  };
}

/** What a task that took too long is called. */
const timeoutTypes = ["TaskCanceledException", "TimeoutException"];

/** `onTimeout` is a rule for those, asked before all others of its level. */
function onTimeoutRule(value: unknown): ErrorRule[] {
  const policy = asObject(value);
  if (policy === undefined) return [];
  const retryPolicy = policy["defaultRetryPolicy"] ?? policy["retryPolicy"] ?? {};
  const rule = { ...policy, retryPolicy, errorTypes: timeoutTypes, errorCodes: [], priority: 0 };
  return [normaliseErrorRule(rule)];
}

const specificity = ({ errorTypes, errorCodes }: ErrorRule) =>
  [...errorTypes, ...errorCodes].filter((name) => name !== "*").length;

/** A rule for everything that names no priority of its own is asked after all others. */
const wildcardPriority = 999;

function normaliseErrorRule(rule: JsonObject): ErrorRule {
  const errorTypes = texts(rule["errorTypes"]);
  const errorCodes = texts(rule["errorCodes"]);
  const priority = asNumber(rule["priority"]) ?? defaultPriority;
  const listed = [...errorTypes, ...errorCodes];
  const isWildcard = listed.length === 0 || listed.includes("*");
  const transition = asText(rule["transition"]);
  return {
    action: errorAction.read(rule["action"]) ?? "abort",
    errorTypes,
    errorCodes,
    transition: transition === "" ? undefined : transition,
    priority: isWildcard && priority === defaultPriority ? wildcardPriority : priority,
    retryPolicy: normaliseRetryPolicy(rule["retryPolicy"]),
  };
}

const texts = (value: unknown): readonly string[] => asList(value).map(String);

function normaliseRetryPolicy(value: unknown): RetryPolicy | undefined {
  const policy = asObject(value);
  if (policy === undefined) return undefined;
  const initialDelayMs = durationOf(policy["initialDelay"]) ?? defaultRetry.initialDelayMs;
  return {
    initialDelayMs,
    maxRetries: asNumber(policy["maxRetries"]) ?? defaultRetry.maxRetries,
    backoffType: backoffType.read(policy["backoffType"]) ?? defaultRetry.backoffType,
    backoffMultiplier: asNumber(policy["backoffMultiplier"]) ?? defaultRetry.backoffMultiplier,
    maxDelayMs: durationOf(policy["maxDelay"]) ?? Math.max(defaultRetry.maxDelayMs, initialDelayMs),
    useJitter: policy["useJitter"] !== false,
  };
}

export function normaliseLongPoll(interaction: unknown, owner: Owner): LongPoll | undefined {
  const longPoll = asObject(asObject(interaction)?.["longPoll"]);
  if (longPoll === undefined) return undefined;
  return {
    terminate: longPoll["terminate"] === true,
    fallbackTimeoutSeconds: asNumber(longPoll["fallbackTimeoutSeconds"]) ?? defaultFallbackSeconds,
    roles: normaliseRoles(longPoll["roles"]),
    rule: readScriptCode(longPoll["rule"], owner),
  };
}

export const asNumber = (value: unknown): number | undefined =>
  typeof value === "number" ? value : undefined;

export const durationOf = (value: unknown): number | undefined =>
  typeof value === "string" ? parseIsoDuration(value) : undefined;
