/**
 * The view that a client shows now: of a transition when one is named, else of the state. A wizard
 * state shows the view of its one way on. A subflow without a view leaves it to its parent.
 */
import type { Asker } from "../runtime/asker.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { problems } from "../engine/problems.ts";
import type { Reference } from "../engine/definition/reference.ts";
import { answerJson, type FunctionAnswer } from "./function-answer.ts";
import { parameter, type InstanceCall } from "./instance-call.ts";
import { deepest, keeperOf, loadLevels, refuseQuery, type Levels } from "./levels.ts";
import { pickEntry, readingOf } from "./pick-entry.ts";
import { showView } from "./show-view.ts";
import { entriesOf, referenceOf, transitionAt, type ViewPlace } from "./slots.ts";
import { allowedOffers, askedOnce } from "./transition-gates.ts";
import { wizardOffer } from "./wizard.ts";

export async function callView(
  ports: FunctionPorts,
  { polled, asker }: InstanceCall,
): Promise<FunctionAnswer> {
  const levels = await loadLevels(ports, polled);
  await refuseQuery(ports, levels, asker.viewer);
  const key = parameter(asker, "transitionkey");
  const places =
    key === undefined
      ? await statePlaces(ports, levels, asker)
      : [{ at: keeperOf(levels, key), transition: transitionAt(keeperOf(levels, key), key) }];
  for (const place of places) {
    // Named, and not there.
    if (key !== undefined && place.transition === undefined) break;
    const reference = await chosen(ports, place, asker);
    if (reference !== undefined) return answerJson(await showView(ports, reference, asker));
  }
  const { current } = deepest(levels).instance;
  const what =
    key === undefined
      ? `The state '${current.key}' has no view for this caller.`
      : `The transition '${key}' has no view for this caller in the state '${current.key}'.`;
  throw problems.nothingThere({ what }, { target: key });
}

/** Where a view is looked for, in this order. */
async function statePlaces(
  ports: FunctionPorts,
  levels: Levels,
  asker: Asker,
): Promise<ViewPlace[]> {
  const shown = deepest(levels);
  const offers = await allowedOffers(askedOnce(ports), levels, asker.viewer);
  const wizard = wizardOffer(shown, offers);
  const states = levels.map((at) => ({ at, transition: undefined })).toReversed();
  return wizard === undefined ? states : [{ at: shown, transition: wizard.transition }, ...states];
}

async function chosen(
  ports: FunctionPorts,
  place: ViewPlace,
  asker: Asker,
): Promise<Reference | undefined> {
  const reading = readingOf(place.at, asker, place.transition);
  const entry = await pickEntry(ports, entriesOf(place), reading);
  return entry === undefined ? undefined : referenceOf(place, entry);
}
