import { NotificationMessage } from "millrace/script";
import type { INotificationMapping, ScriptContext, ScriptResponse } from "millrace/script";

/** A notification's mapping: one message per channel. The channel `state` needs none. */
export default class TellApplicant implements INotificationMapping {
  ChannelHandler(channel: string, context: ScriptContext) {
    const { applicant, decision } = context.Instance!.Data;
    // Nobody is written to who gave no address.
    if (channel !== "email" || applicant.email === undefined) return null;
    return new NotificationMessage({
      Data: {
        to: { name: applicant.name, address: applicant.email },
        subject: `Your application is ${decision.outcome}`,
        text: `Dear ${applicant.name}, your application is ${decision.outcome}.`,
      },
    });
  }

  OutputHandler(context: ScriptContext): ScriptResponse {
    return { Data: { told: context.Body.metadata.dispatched } };
  }
}
