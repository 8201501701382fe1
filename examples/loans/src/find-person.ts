import { ScriptBase, SoapTask } from "millrace/script";
import type { IMapping, ScriptContext, ScriptResponse, WorkflowTask } from "millrace/script";
import { Partners } from "partners";

const namespaces = { i: "urn:identity" };

/** Asks the registry. It answers with a fault for somebody it does not know: status 500, accepted. */
export default class FindPerson extends ScriptBase implements IMapping {
  InputHandler(task: WorkflowTask, context: ScriptContext): void {
    if (!(task instanceof SoapTask)) return;
    const name = this.EscapeXml(context.Instance!.Data.name)!;
    task.SetUrl(Partners.url(this, "/identity"));
    task.SetBody(task.Body!.replace("{name}", () => name));
  }

  OutputHandler(context: ScriptContext): ScriptResponse {
    const answer = this.ParseXml(context.Body.data);
    const number = answer?.SelectSingleNode("//i:number", namespaces)?.InnerText;
    if (number === undefined) {
      const reason = answer?.SelectSingleNode("//faultstring")?.InnerText;
      this.LogInformation("The registry knows nothing: {reason}", reason);
      return { Data: { isConfirmed: false } };
    }
    return { Data: { isConfirmed: true, confirmedBy: "registry", personNumber: number } };
  }
}
