/** Who may send a transition: the same gates for what is listed, explained and asked for. */
import type { Transition } from "../engine/definition/model.ts";
import type { Author } from "../engine/instance.ts";
import { offersOf, type PlacedOffer } from "../engine/offered-transitions.ts";
import {
  explainTransition,
  type Gate,
  type RolePorts,
  type Viewer,
} from "../runtime/check-roles.ts";
import { asIfSent } from "./as-if-sent.ts";
import { asOverridden, type Level, type Levels } from "./levels.ts";

export interface AllowedOffer extends PlacedOffer {
  readonly at: Level;
}

export async function allowedOffers(
  roles: RolePorts,
  levels: Levels,
  viewer: Viewer,
): Promise<AllowedOffer[]> {
  const offers = offersOf(levels) as AllowedOffer[];
  const allowed = await Promise.all(
    offers.map(async ({ at, transition }) =>
      isAllowed(await gatesOf(roles, at, transition, viewer)),
    ),
  );
  return offers.filter((_, i) => allowed[i]);
}

export const isAllowed = (gates: readonly Gate[]): boolean => gates.every(({ allowed }) => allowed);

export const gatesOf = (
  roles: RolePorts,
  level: Level,
  transition: Transition,
  viewer: Viewer,
): Promise<Gate[]> => {
  const asked = asOverridden(level, transition);
  return explainTransition(roles, asked, level.instance, sending(viewer, level, transition.key));
};

/** At the address of the request, when that is this instance's; a subflow is sent to by its id. */
function sending(viewer: Viewer, { instance }: Level, transitionKey: string): Viewer {
  const { domain, flow: workflow, id, key } = instance;
  const route = viewer.request?.route;
  const isNamed =
    key !== undefined && route?.["instance"] === key && route["workflow"] === workflow;
  return asIfSent(viewer, {
    route: { domain, workflow, instance: isNamed ? key : id, transitionKey },
    transitionKey,
  });
}

/** Who made the last manual transition is asked once, however many grants want to know. */
export function askedOnce({ store }: RolePorts): RolePorts {
  const known = new Map<string, Promise<Author | undefined>>();
  return {
    store: {
      lastManualAuthor(id) {
        const author = known.get(id) ?? store.lastManualAuthor(id);
        known.set(id, author);
        return author;
      },
    },
  };
}
