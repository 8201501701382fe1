import type { IMapping, ScriptContext, ScriptResponse } from "millrace/script";

/** The compensation: the offer was made in the expectation of a rating, which did not come. */
export default class TakeOfferBack implements IMapping {
  OutputHandler(context: ScriptContext): ScriptResponse {
    context.Mutations.SetStage("without rating");
    return { Data: { offer: { isTakenBack: true } } };
  }
}
