import type { SlotEntry, Transition } from "../engine/definition/model.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { Asker } from "../runtime/asker.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { nothingRun, type Reading } from "../runtime/read-context.ts";
import { scriptOf } from "../runtime/run-read-tasks.ts";
import type { Level } from "./levels.ts";

/** The first entry of a slot without a rule, or whose rule holds. A rule that fails is passed over. */
export async function pickEntry<Entry extends SlotEntry>(
  { scripts, onTrouble }: FunctionPorts,
  entries: readonly Entry[],
  reading: Reading,
): Promise<Entry | undefined> {
  for (const entry of entries) {
    if (entry.rule === undefined) return entry;
    try {
      const helpers = reading.workflow?.helpers ?? [];
      if (await scripts.holds(scriptOf(reading, helpers, entry.rule))) return entry;
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      onTrouble("SlotRuleFailed", error);
    }
  }
  return undefined;
}

/** What the rules of an instance's slots see; its data are the body. */
export const readingOf = (
  { instance, workflow }: Level,
  asker: Asker,
  transition?: Transition,
): Reading => ({
  ...nothingRun,
  asker,
  domain: workflow.domain,
  version: workflow.version,
  instance,
  workflow,
  transition,
  body: instance.data,
});
