import { HttpTask, ScriptBase } from "millrace/script";
import type { IMapping, ScriptContext, ScriptResponse, WorkflowTask } from "millrace/script";
import { Partners } from "partners";

/** Asks the credit bureau. What happens when it does not answer is said by the error boundary. */
export default class AskBureau extends ScriptBase implements IMapping {
  InputHandler(task: WorkflowTask, context: ScriptContext): void {
    if (!(task instanceof HttpTask)) return;
    const { name, birthYear } = context.Instance!.Data.applicant;
    task.SetUrl(Partners.url(this, "/bureau/ratings"));
    task.SetBody({ name, birthYear });
  }

  OutputHandler(context: ScriptContext): ScriptResponse {
    const { isSuccess, data, errorMessage } = context.Body;
    if (isSuccess) return { Data: { rating: data.rating } };
    this.LogWarning("The bureau does not answer: {reason}", errorMessage);
    return {};
  }
}
