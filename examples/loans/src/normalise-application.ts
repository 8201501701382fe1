import type { ITransitionMapping, ScriptContext } from "millrace/script";
import { Money } from "money";

/**
 * A transition's mapping: what it answers is merged into the data and kept in the history, in place
 * of what was sent.
 */
export default class NormaliseApplication implements ITransitionMapping {
  Handler(context: ScriptContext) {
    const { amount, currency = "EUR", applicant, ...rest } = context.Body;
    return {
      ...rest,
      amount: Money.round(amount),
      currency: currency.toUpperCase(),
      applicant: { ...applicant, name: applicant.name.trim() },
    };
  }
}
