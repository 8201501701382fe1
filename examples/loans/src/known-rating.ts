import { StateStoreTask } from "millrace/script";
import type { IMapping, ScriptContext, ScriptResponse, WorkflowTask } from "millrace/script";
import { Ratings } from "ratings";

/** Reads a state store. A miss is a success with nothing in it. */
export default class KnownRating implements IMapping {
  InputHandler(task: WorkflowTask, context: ScriptContext): void {
    if (task instanceof StateStoreTask) task.SetCacheKey(Ratings.keyOf(context.Instance!.Data));
  }

  OutputHandler(context: ScriptContext): ScriptResponse {
    const { data, metadata } = context.TaskResponse["knownRating"];
    return metadata.Found ? { Data: { rating: data.rating } } : {};
  }
}
