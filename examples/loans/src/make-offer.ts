import { ScriptBase } from "millrace/script";
import type { IMapping, ScriptContext, ScriptResponse, WorkflowTask } from "millrace/script";
import { Money } from "money";

/** A task's mapping: the input handler runs before the task, the output handler after it. */
export default class MakeOffer extends ScriptBase implements IMapping {
  InputHandler(task: WorkflowTask, context: ScriptContext): ScriptResponse {
    // Each handler has an object of its own: what the other one shall see goes by MetaData.
    context.MetaData["annualRate"] = this.GetConfigValue("Loans:AnnualRate", 0.049);
    this.LogDebug("{task} at {rate}", task.Key, context.MetaData["annualRate"]);
    return {};
  }

  OutputHandler(context: ScriptContext): ScriptResponse {
    const { amount, termMonths = 12 } = context.Instance!.Data;
    const annualRate = context.MetaData["annualRate"];
    const monthly = Money.instalment(amount, annualRate, termMonths);
    // Only what changed: it is merged into the data.
    return { Data: { offer: { annualRate, monthly, termMonths } } };
  }
}
