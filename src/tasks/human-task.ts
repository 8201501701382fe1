/** Task type 5: says that somebody has something to do, and waits for nobody. */
import type { MappedTaskType } from "./task-type.ts";

export const humanTask: MappedTaskType = {
  code: "5",
  name: "Human",
  stamp: "Human",
  isEffectful: () => false,
  invoke: async () => ({ data: { status: "Pending" }, statusCode: 202, isSuccess: true }),
};
