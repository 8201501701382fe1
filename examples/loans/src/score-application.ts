import { ScriptBase } from "millrace/script";
import type { IMapping, ScriptContext, ScriptResponse } from "millrace/script";

/** The mapping of a script task: its output handler is the task. */
export default class ScoreApplication extends ScriptBase implements IMapping {
  OutputHandler(context: ScriptContext): ScriptResponse {
    const { rating, offer } = context.Instance!.Data;
    const score = Math.max(0, Math.round(rating - offer.monthly));
    this.LogInformation("Scored {score} for {monthly} a month", score, offer.monthly);
    context.Mutations.SetStage("scored");
    return { Data: { score } };
  }
}
