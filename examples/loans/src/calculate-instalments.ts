import { ScriptBase } from "millrace/script";
import type { IMapping, ScriptContext, ScriptResponse } from "millrace/script";
import { Money } from "money";

/** A function's task. Body is what the caller sent; the input schema has looked at it. */
export default class CalculateInstalments extends ScriptBase implements IMapping {
  OutputHandler(context: ScriptContext): ScriptResponse {
    const { amount, termMonths } = context.Body;
    const annualRate = this.GetConfigValue("Loans:AnnualRate", 0.049);
    const monthly = Money.instalment(amount, annualRate, termMonths);
    return { Data: { annualRate, monthly, total: Money.round(monthly * termMonths) } };
  }
}
