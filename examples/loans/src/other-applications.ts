import { GetInstancesTask } from "millrace/script";
import type {
  Dynamic,
  IMapping,
  ScriptContext,
  ScriptResponse,
  WorkflowTask,
} from "millrace/script";

/** An extension's task: what it answers stands beside the data when an instance is read. */
export default class OtherApplications implements IMapping {
  InputHandler(task: WorkflowTask, context: ScriptContext): void {
    if (!(task instanceof GetInstancesTask)) return;
    // Not by name: others may have the same.
    const personNumber = context.Instance!.Data.identity?.personNumber ?? "";
    task.SetFilter({ attributes: { identity: { personNumber: { eq: personNumber } } } });
  }

  OutputHandler(context: ScriptContext): ScriptResponse {
    const { isSuccess, data } = context.Body;
    if (!isSuccess) return {};
    const { Id } = context.Instance!;
    const others = data.items.filter(({ id }: Dynamic) => id !== Id);
    return {
      Data: others.map(({ id, key, metadata }: Dynamic) => ({
        id,
        key,
        state: metadata.currentState,
      })),
    };
  }
}
