/**
 * The transitions an instance offers to callers, before anybody's roles are looked at: those of its
 * state, the shared ones, then cancel, updateData and exit. Automatic and scheduled ones are the
 * system's.
 *
 * An instance that waits for a subflow offers the subflow's, and of its own those that are not
 * forwarded to it. A key that some level above keeps to itself never reaches a level below, so it is
 * not offered there.
 */
import type { Transition, Workflow } from "./definition/model.ts";
import type { Instance } from "./instance.ts";
import { isAvailableIn, isForwarded, resolveSpecial } from "./transition/admit.ts";

export type OfferKind = "stateTransition" | "sharedTransition" | "cancel" | "updateData" | "exit";

export interface Offer {
  readonly kind: OfferKind;
  readonly transition: Transition;
}

/** An instance with the workflow it runs on. */
export interface Placed {
  readonly instance: Instance;
  readonly workflow: Workflow;
}

export interface PlacedOffer extends Offer {
  readonly at: Placed;
}

/** `levels`: the instance that is asked, its open subflow, that one's, and so on. */
export function offersOf(levels: readonly Placed[]): PlacedOffer[] {
  return levels
    .map((at, depth) => {
      const reaches = ({ transition }: Offer) =>
        levels
          .slice(0, depth)
          .every(({ workflow, instance }) => isForwarded(workflow, instance, transition.key));
      const offers = depth === levels.length - 1 ? ownOffers(at) : keptOffers(at);
      return offers.filter(reaches).map((offer) => ({ ...offer, at }));
    })
    .toReversed()
    .flat();
}

/** Of an instance that waits for nobody; only one at rest takes requests. */
function ownOffers({ instance, workflow }: Placed): Offer[] {
  const state = workflow.states.get(instance.current.key);
  // One that waits for a subflow which is not there, or has just ended, is the system's to move on.
  if (instance.status !== "A" || state === undefined) return [];
  const own = state.transitions.filter((it) => isForCallers(it) && isReached(workflow, it));
  const ownKeys = new Set(state.transitions.map(({ key }) => key));
  return [
    ...own.map((transition) => ({ kind: "stateTransition" as const, transition })),
    ...sharedOffers(workflow, state.key).filter(({ transition }) => !ownKeys.has(transition.key)),
    ...specialOffers(workflow, state.key),
  ];
}

/** Of one that waits for a subflow: what it does itself. A shared one that leaves would be refused. */
function keptOffers({ instance, workflow }: Placed): Offer[] {
  const state = instance.current.key;
  return [
    ...sharedOffers(workflow, state).filter(({ transition }) => transition.target === "$self"),
    ...specialOffers(workflow, state),
  ];
}

const isForCallers = ({ triggerType }: Transition) =>
  triggerType === "manual" || triggerType === "event";

/** A request by the key of a special transition means that one, whoever else has the key. */
const isReached = (workflow: Workflow, { key }: Transition) =>
  resolveSpecial(workflow, key) === undefined;

const sharedOffers = (workflow: Workflow, state: string): Offer[] =>
  workflow.sharedTransitions
    .filter(
      (shared) =>
        isForCallers(shared) &&
        isReached(workflow, shared) &&
        isAvailableIn(shared.availableIn, state),
    )
    .map((transition) => ({ kind: "sharedTransition", transition }));

function specialOffers({ cancel, updateData, exit }: Workflow, state: string): Offer[] {
  const given = [
    ["cancel", cancel],
    ["updateData", updateData],
    ["exit", exit],
  ] as const;
  return given.flatMap(([kind, transition]) =>
    transition !== undefined && isAvailableIn(transition.availableIn, state)
      ? [{ kind, transition }]
      : [],
  );
}
