import type { IOutputHandler, ScriptContext, ScriptResponse } from "millrace/script";

/**
 * The workflow's output: what it answers is the HTTP response to a start or transition with
 * `sync=true`. Should it fail, the standard envelope is the response.
 */
export default class QuoteReply implements IOutputHandler {
  OutputHandler(context: ScriptContext): ScriptResponse {
    const { Id, Data, CurrentState } = context.Instance!;
    return {
      StatusCode: context.Transition!.Key === "ask" ? 201 : 200,
      Headers: { "X-Quote-Id": Id, "Content-Type": "application/vnd.loans.quote+json" },
      Data: { quote: Id, state: CurrentState, offers: Data.offers },
    };
  }
}
