import type { ITransitionMapping, ScriptContext } from "millrace/script";

/** Who vouches for the applicant is who is calling; what the caller says about it does not count. */
export default class ConfirmPerson implements ITransitionMapping {
  Handler(context: ScriptContext) {
    return { isConfirmed: true, confirmedBy: context.Headers?.get("act_sub") ?? "unknown" };
  }
}
