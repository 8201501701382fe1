import type { Level } from "./levels.ts";
import type { AllowedOffer } from "./transition-gates.ts";

/** In a wizard state with one way on, the client is shown that transition's view at once. */
export function wizardOffer(
  shown: Level,
  offers: readonly AllowedOffer[],
): AllowedOffer | undefined {
  const { instance, workflow } = shown;
  if (workflow.states.get(instance.current.key)?.type !== "wizard") return undefined;
  const own = offers.filter(({ at, kind }) => at === shown && kind === "stateTransition");
  return own.length === 1 ? own[0] : undefined;
}
