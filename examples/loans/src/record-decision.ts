import { ScriptBase } from "millrace/script";
import type { IMapping, ScriptContext, ScriptResponse } from "millrace/script";

/** A whole mapping as a component of its own: slots take it with the encoding REF. */
export default class RecordDecision extends ScriptBase implements IMapping {
  OutputHandler(context: ScriptContext): ScriptResponse {
    const outcome = context.Instance!.CurrentState;
    const isByRule = context.Transition!.TriggerType === "Automatic";
    const by = isByRule ? "rule" : (context.Headers?.get("act_sub") ?? "unknown");
    this.LogInformation("{key} is {outcome} by {by}", context.Instance!.Key, outcome, by);
    context.Mutations.SetStage("decided");
    return { Data: { decision: { outcome, by, at: new Date().toISOString() } } };
  }
}
