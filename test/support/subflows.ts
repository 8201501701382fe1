/** Flows within flows, for workflows of tests. */
import { expect } from "vitest";
import { rowsOf } from "../crash/promises.ts";
import { defaultDomain } from "./a-workflow.ts";
import { slot } from "./a-script-slot.ts";
import type { TestRuntime } from "./start-runtime.ts";

export interface SubFlowOptions {
  type?: "S" | "P";
  domain?: string;
  [member: string]: unknown;
}

/** A state that opens the flow: `.state("inside", inside("check"))`. */
export const inside = (
  key: string,
  { type = "S", domain = defaultDomain, ...more }: SubFlowOptions = {},
) => ({
  type: "subFlow" as const,
  subFlow: {
    type,
    process: { key, domain, flow: "sys-flows", version: "1.0.0" },
    mapping: { type: "G" },
    ...more,
  },
});

/** A subflow's mapping, from the bodies of its two handlers. */
export const between = (input: string, output = "return {};") =>
  slot(`
    export function InputHandler(context) { ${input} }
    export function OutputHandler(context) { ${output} }`);

export interface CorrelationRow {
  kind: string;
  /** Of the parent. */
  state: string;
  child: string;
  outcome: string | null;
  isCompleted: boolean;
}

/** The children of an instance, oldest first (of one commit: by the parent's state). */
export const childrenOf = (app: TestRuntime, parentId: string): Promise<CorrelationRow[]> =>
  rowsOf<CorrelationRow>(
    app.databaseUrl,
    `select kind::text as kind, parent_state as state, child_id as child, outcome, completed_at is not null as "isCompleted"
     from correlation where parent_id = $1 order by created_at, parent_state`,
    [parentId],
  );

/** Its newest child. */
export async function childOf(app: TestRuntime, parentId: string): Promise<string> {
  const children = await childrenOf(app, parentId);
  expect(children).not.toEqual([]);
  return children.at(-1)!.child;
}

/** Its newest child, that one's, and so on. */
export async function descendantsOf(app: TestRuntime, id: string): Promise<string[]> {
  const [child] = (await childrenOf(app, id)).toReversed();
  return child === undefined ? [] : [child.child, ...(await descendantsOf(app, child.child))];
}
