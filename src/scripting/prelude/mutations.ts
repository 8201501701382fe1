import { limits } from "../contract.ts";
import { describe } from "./describe.ts";
import { ArgumentException } from "./errors.ts";

/** Changes of the instance that a script asks for; applied after it has ended well. */
export class InstanceMutations {
  /** The stage as asked for; null while nothing was asked, and when it is to be cleared. */
  Stage: string | null = null;
  HasStageChange = false;

  get HasChanges(): boolean {
    return this.HasStageChange;
  }

  SetStage(stage: string | null | undefined): void {
    const value = stage ?? null;
    if (value !== null && typeof value !== "string") {
      throw new ArgumentException(`Stage must be a text, not ${describe(value)}.`, "stage");
    }
    if (value !== null && value.length > limits.stageLength) {
      throw new ArgumentException(
        `Stage can have at most ${limits.stageLength} characters; this one has ${value.length}.`,
        "stage",
      );
    }
    this.Stage = value;
    this.HasStageChange = true;
  }
}
