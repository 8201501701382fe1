/**
 * What a list can ask about an instance apart from its data: the column's name on the wire, the
 * kind of value it holds, and the operators that make sense for that kind (wire contract §5.4).
 */
import type { Operator } from "./operators.ts";

export const columns = {
  id: "uuid",
  key: "text",
  flow: "text",
  status: "status",
  currentState: "text",
  currentStateType: "stateType",
  currentStateSubType: "stateSubType",
  effectiveState: "text",
  effectiveStateType: "stateType",
  effectiveStateSubType: "stateSubType",
  stage: "text",
  createdAt: "instant",
  modifiedAt: "instant",
  completedAt: "instant",
  createdBy: "text",
  createdByBehalfOf: "text",
  modifiedBy: "text",
  modifiedByBehalfOf: "text",
  isTransient: "boolean",
} as const;
export type Column = keyof typeof columns;
export type ColumnKind = (typeof columns)[Column];

/** `state` is where the caller sees the instance, which may be inside a subflow. */
const aliases: Readonly<Record<string, Column>> = {
  state: "effectiveState",
  stateType: "effectiveStateType",
  stateSubType: "effectiveStateSubType",
};

const byLowerName = new Map<string, Column>([
  ...Object.keys(columns).map((name) => [name.toLowerCase(), name as Column] as const),
  ...Object.entries(aliases).map(([alias, column]) => [alias.toLowerCase(), column] as const),
]);

export const findColumn = (name: string): Column | undefined => byLowerName.get(name.toLowerCase());

export const columnNames: readonly string[] = [...Object.keys(columns), ...Object.keys(aliases)];

/**
 * Columns of later public releases. Read as data paths they would quietly match nothing, so they
 * are refused by name.
 */
const laterColumns = new Set(["effectivestatus", "instancetype"]);
export const isLaterColumn = (name: string): boolean => laterColumns.has(name.toLowerCase());

const membership = ["eq", "ne", "in", "nin"] as const;
const ordering = ["gt", "ge", "lt", "le", "between"] as const;
const textual = ["like", "match", "startswith", "endswith"] as const;

export const operatorsOf: Readonly<Record<ColumnKind, readonly Operator[]>> = {
  text: [...membership, ...ordering, ...textual, "isNull"],
  uuid: [...membership, ...textual, "isNull"],
  instant: [...membership, ...ordering, "isNull"],
  stateType: [...membership, ...ordering, "isNull"],
  stateSubType: [...membership, ...ordering, "isNull"],
  status: membership,
  boolean: ["eq", "ne"],
};

/** Code and name of each status; a filter may say either, in any case. */
export const statusNames = {
  A: "Active",
  B: "Busy",
  C: "Completed",
  F: "Faulted",
  P: "Passive",
} as const;

/** The number of each state type and sub type; a filter may say the number or the word. */
export const stateTypeNumbers = {
  initial: 1,
  intermediate: 2,
  finish: 3,
  subFlow: 4,
  wizard: 5,
} as const;
export const stateSubTypeNumbers = {
  none: 0,
  success: 1,
  error: 2,
  terminated: 3,
  suspended: 4,
  busy: 5,
  human: 6,
  cancelled: 7,
  timeout: 8,
} as const;
