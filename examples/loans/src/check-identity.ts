import type { ISubFlowMapping, ScriptContext, ScriptResponse } from "millrace/script";

/** A subflow's mapping: what the child is started with, and what the parent takes from its end. */
export default class CheckIdentity implements ISubFlowMapping {
  InputHandler(context: ScriptContext): ScriptResponse {
    const { Key, Data } = context.Instance!;
    return {
      Key: Key === null ? null : `identity-of-${Key}`,
      Data: { name: Data.applicant.name },
      Tags: ["identity"],
    };
  }

  OutputHandler(context: ScriptContext): ScriptResponse {
    // Body is the data of the child.
    const { isConfirmed, confirmedBy, personNumber } = context.Body;
    return { Data: { identity: { isConfirmed, confirmedBy, personNumber } } };
  }
}
