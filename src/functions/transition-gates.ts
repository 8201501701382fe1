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

/** The viewer as if they sent the transition: grants may look at where a request goes. */
function sending(viewer: Viewer, { instance }: Level, transitionKey: string): Viewer {
  const { request } = viewer;
  if (request === undefined) return viewer;
  const { domain, flow: workflow, id } = instance;
  return {
    ...viewer,
    request: {
      get headers() {
        return request.headers;
      },
      get query() {
        return request.query;
      },
      route: { ...request.route, domain, workflow, instance: id, transitionKey },
      transitionKey,
    },
  };
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
