import { TimerSchedule } from "millrace/script";
import type { ITimerMapping, ScriptContext } from "millrace/script";

/** When a scheduled transition fires: asked once, when its state is entered. */
export default class ReviewDeadline implements ITimerMapping {
  Handler(context: ScriptContext): TimerSchedule {
    const { amount } = context.Instance!.Data;
    return TimerSchedule.FromDuration({ days: amount > 100_000 ? 30 : 14 });
  }
}
