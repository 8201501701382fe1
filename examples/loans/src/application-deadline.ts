import { TimerSchedule } from "millrace/script";
import type { ITimerMapping, ScriptContext } from "millrace/script";

/** When an application lapses: asked once, at the start. Should it fail, the timeout's own duration counts. */
export default class ApplicationDeadline implements ITimerMapping {
  Handler(context: ScriptContext): TimerSchedule {
    return TimerSchedule.FromDuration(context.Instance!.Data.holdsFor ?? { days: 90 });
  }
}
