import type { ErrorsByPath } from "../problem.ts";

/** Why a list query is refused. Programs read `code`; `target` says where, `message` what to do. */
export interface QueryReason {
  readonly code: string;
  readonly target: string;
  readonly message: string;
}

/** The parameter a reason belongs to, and the code its refusal carries on the wire. */
const codeByFamily = {
  filter: "Validation:900011",
  sort: "Validation:900012",
  groupBy: "Validation:900013",
  aggregations: "Validation:900014",
  page: "ModelValidation:Failed",
  pageSize: "ModelValidation:Failed",
} as const;
export type QueryFamily = keyof typeof codeByFamily;
export type QueryRefusalCode = (typeof codeByFamily)[QueryFamily];

export const maxReasons = 20;

/**
 * Gathers reasons, so that a caller can mend everything in one round trip. It stops at twenty: a
 * hostile filter must not make the answer larger than the question.
 */
export class Reasons {
  readonly list: QueryReason[] = [];

  add(code: `${QueryFamily}.${string}`, target: string, message: string): void {
    if (this.list.length < maxReasons) this.list.push({ code, target, message });
  }
}

/** One answer has one code: that of the first reason's family. */
export function refusalCode(reasons: readonly QueryReason[]): QueryRefusalCode {
  const family = (reasons[0]?.code ?? "filter.").split(".")[0] as QueryFamily;
  return codeByFamily[family];
}

/** The reasons as the wire's `errors` map carries them; each text begins with the reason's code. */
export function reasonsByTarget(reasons: readonly QueryReason[]): ErrorsByPath {
  // A target holds names the caller chose, and `__proto__` is one of them: as an own member only.
  const byTarget = new Map<string, string[]>();
  for (const { code, target, message } of reasons) {
    byTarget.set(target, [...(byTarget.get(target) ?? []), `${code}: ${message}`]);
  }
  return Object.fromEntries(byTarget);
}

const shownLength = 60;

/** A caller's own text inside a message or target: enough to recognise it, never all of it. */
export const shown = (text: string): string =>
  text.length <= shownLength ? text : `${text.slice(0, shownLength)}…`;
