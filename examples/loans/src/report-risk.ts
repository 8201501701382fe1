import type { IMapping, ScriptContext, ScriptResponse } from "millrace/script";

/** A function on an instance. Scripts see everything: who may call it is said by its roles. */
export default class ReportRisk implements IMapping {
  OutputHandler(context: ScriptContext): ScriptResponse {
    const { amount, rating = null, score = null, identity } = context.Instance!.Data;
    return { Data: { amount, rating, score, vouchedFor: identity?.confirmedBy ?? null } };
  }
}
