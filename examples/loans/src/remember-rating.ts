import { StateStoreTask } from "millrace/script";
import type { IMapping, ScriptContext, ScriptResponse, WorkflowTask } from "millrace/script";
import { Ratings } from "ratings";

/** Writes to a state store: the task says for how long. */
export default class RememberRating implements IMapping {
  InputHandler(task: WorkflowTask, context: ScriptContext): void {
    if (!(task instanceof StateStoreTask)) return;
    const { Data } = context.Instance!;
    task.SetCacheKey(Ratings.keyOf(Data));
    task.SetValue({ rating: Data.rating });
  }

  OutputHandler(): ScriptResponse {
    return {};
  }
}
