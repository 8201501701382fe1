import { ScriptBase } from "millrace/script";
import type { ITransitionMapping, ScriptContext } from "millrace/script";
import { Money } from "money";

/** The start's mapping of a quote: the offers are the data. */
export default class QuoteTerms extends ScriptBase implements ITransitionMapping {
  Handler(context: ScriptContext) {
    const amount = Money.round(context.Body.amount);
    const annualRate = this.GetConfigValue("Loans:AnnualRate", 0.049);
    const offers = [12, 24, 36].map((termMonths) => ({
      termMonths,
      monthly: Money.instalment(amount, annualRate, termMonths),
    }));
    return { amount, annualRate, offers };
  }
}
