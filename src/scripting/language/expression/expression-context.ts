/**
 * What an expression sees: one variable, `context`, and below it only the members listed here.
 *
 * `Body`, `Data` and their like are JSON (exact numbers included); the evaluator reads own members
 * of plain objects and arrays, and nothing else, so an expression cannot reach the host. A caller
 * may hand in objects that know more than is listed: the rest stays out of sight.
 */
export interface ExpressionContext {
  readonly Body: unknown;
  readonly Headers: unknown;
  readonly QueryParameters: unknown;
  readonly RouteValues: unknown;
  readonly MetaData: unknown;
  /** Null outside the task steps of a transition. */
  readonly CurrentTransition: { readonly Data: unknown; readonly Header: unknown } | null;
  readonly Workflow: {
    readonly Key: string;
    readonly Domain: string;
    readonly Flow: string;
    readonly Version: string;
    readonly StateKeys: readonly string[];
  } | null;
  /** Null in domain functions. */
  readonly Instance: {
    readonly Id: string;
    readonly Key: string | null;
    readonly Flow: string;
    readonly CurrentState: string | null;
    readonly EffectiveState: string | null;
    readonly EffectiveStateType: string | number | null;
    readonly EffectiveStateSubType: string | number | null;
    readonly Data: unknown;
  } | null;
  /** Null outside a transition. */
  readonly Transition: {
    readonly Key: string;
    readonly From: string | null;
    readonly Target: string;
    readonly TriggerType: string | number;
    readonly TriggerKind: string | number | null;
  } | null;
  readonly Runtime: { readonly Domain: string; readonly Version: string } | null;
}

/** The listed members of `context` or of one of its parts, by lower-case name. */
export type View = ReadonlyMap<string, ViewMember>;
export interface ViewMember {
  readonly name: string;
  /** Set for a part with listed members of its own; the others are JSON values. */
  readonly view?: View;
}

const viewOf = (...members: (string | ViewMember)[]): View =>
  new Map(
    members.map((member) => {
      const entry = typeof member === "string" ? { name: member } : member;
      return [entry.name.toLowerCase(), entry];
    }),
  );

export const contextView: View = viewOf(
  "Body",
  "Headers",
  "QueryParameters",
  "RouteValues",
  "MetaData",
  { name: "CurrentTransition", view: viewOf("Data", "Header") },
  { name: "Workflow", view: viewOf("Key", "Domain", "Flow", "Version", "StateKeys") },
  {
    name: "Instance",
    view: viewOf(
      "Id",
      "Key",
      "Flow",
      "CurrentState",
      "EffectiveState",
      "EffectiveStateType",
      "EffectiveStateSubType",
      "Data",
    ),
  },
  { name: "Transition", view: viewOf("Key", "From", "Target", "TriggerType", "TriggerKind") },
  { name: "Runtime", view: viewOf("Domain", "Version") },
);
