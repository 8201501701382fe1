/**
 * The headers of an outgoing call: the task's own, and those that every call carries.
 *
 * Whose word counts: the trace is ours, because a script cannot know the span; `Idempotency-Key`,
 * `X-Request-Id`, `sub` and `act_sub` are only filled in where the task left them empty.
 */
import { randomBytes } from "node:crypto";
import { isJsonObject, stringifyJson } from "../engine/exact-json.ts";
import type { TaskCall } from "./task-type.ts";
import type { TaskContext } from "./task-host.ts";

export type CallHeaders = Record<string, string>;

/** `headers` of a task's config, without those that have no value. */
export function configuredHeaders(headers: unknown): CallHeaders {
  if (!isJsonObject(headers)) return {};
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === null || value === undefined || name === ""
      ? []
      : [[name, typeof value === "string" ? value : stringifyJson(value)]],
  );
  return Object.fromEntries(given);
}

export const headerIn = (headers: Readonly<CallHeaders>, name: string): string | undefined => {
  const wanted = name.toLowerCase();
  return Object.entries(headers).find(([known]) => known.toLowerCase() === wanted)?.[1];
};

/** A copy in which the name, however it is spelled, has this value only; undefined removes it. */
export function withHeader(
  headers: Readonly<CallHeaders>,
  name: string,
  value: string | undefined,
): CallHeaders {
  const wanted = name.toLowerCase();
  const others = Object.entries(headers).filter(([known]) => known.toLowerCase() !== wanted);
  return Object.fromEntries(value === undefined ? others : [...others, [name, value]]);
}

/** What goes out: the task's own headers, and those of every call. */
export function callHeaders(
  { context, executionKey }: Pick<TaskCall, "context" | "executionKey">,
  own: Readonly<CallHeaders>,
): CallHeaders {
  const { author, headers: asked, traceId } = context;
  let headers: CallHeaders = { ...own };
  const fill = (name: string, value: string | undefined) => {
    if (value === undefined || value === "" || (headerIn(headers, name) ?? "") !== "") return;
    headers = withHeader(headers, name, value);
  };
  fill("Idempotency-Key", executionKey);
  fill("X-Request-Id", asked["x-request-id"] ?? traceId);
  fill("sub", author.behalfOf);
  fill("act_sub", author.actor);
  for (const [name, value] of traceHeaders(context)) headers = withHeader(headers, name, value);
  return headers;
}

/** A span of our own in the caller's trace; the caller's sampling and state go along. */
function traceHeaders({
  traceId,
  headers,
}: Pick<TaskContext, "traceId" | "headers">): [string, string | undefined][] {
  if (traceId === undefined) return [];
  const [, id, flags] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})/.exec(headers["traceparent"] ?? "") ??
    [];
  const isCallers = id === traceId;
  const span = randomBytes(8).toString("hex");
  return [
    ["traceparent", `00-${traceId}-${span}-${isCallers ? flags : "01"}`],
    ["tracestate", isCallers ? headers["tracestate"] : undefined],
  ];
}
