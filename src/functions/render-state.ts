/**
 * The state of an instance as a client polls it: where it stands, what this caller may do next, and
 * where everything else is. While a subflow is open its state and transitions are shown, at the
 * address of the instance that was asked.
 *
 * The ETag is made of the answer itself, so nothing that a caller would see can change without it.
 * Rules of views are not asked: a poll runs no script, except the rule of a long poll.
 */
import type { Instance } from "../engine/instance.ts";
import { pickLabel } from "../engine/pick-label.ts";
import { rolesAllow } from "../engine/role-gate.ts";
import type { Asker } from "../runtime/asker.ts";
import { roleCaller, type RolePorts } from "../runtime/check-roles.ts";
import type { FunctionPorts } from "../runtime/function-ports.ts";
import { correlationsOf } from "./correlations-of.ts";
import { fingerprint, unlessKnown, type FunctionAnswer } from "./function-answer.ts";
import { functionHref, instanceHref, transitionHref } from "./hrefs.ts";
import { listed, type InstanceCall } from "./instance-call.ts";
import { deepest, loadLevels, refuseQuery, type Levels } from "./levels.ts";
import { interactionOf } from "./interaction-of.ts";
import { entriesOf, rendererOf, type ViewPlace } from "./slots.ts";
import { allowedOffers, askedOnce, type AllowedOffer } from "./transition-gates.ts";
import { wizardOffer } from "./wizard.ts";

export interface RenderedState {
  /** The body, complete. */
  readonly json: string;
  readonly eTag: string;
  readonly entityEtag: string;
  readonly instanceId: string;
  readonly rev: number;
  /** The subflows it waits for, one inside the other: a change of theirs is one of this. */
  readonly children: readonly string[];
  /** Nothing more will happen to it. */
  readonly isEnded: boolean;
}

/** Throws when `queryRoles` do not let the caller look. */
export async function renderState(
  ports: FunctionPorts,
  polled: Instance,
  asker: Asker,
): Promise<RenderedState> {
  const levels = await loadLevels(ports, polled);
  await refuseQuery(ports, levels, asker.viewer);
  const { transitions, ...body } = await stateBody(ports, levels, asker);
  const head = JSON.stringify(body);
  const list = JSON.stringify(transitions);
  const eTag = fingerprint(head, list);
  const entityEtag = `"${polled.entityEtag}"`;
  const tags = JSON.stringify({ eTag, entityEtag });
  return {
    json: `${head.slice(0, -1)},"transitions":${list},"availableTransitions":${list},${tags.slice(1)}`,
    eTag,
    entityEtag,
    instanceId: polled.id,
    rev: polled.rev,
    children: levels.flatMap(({ instance }) => instance.openChild?.id ?? []),
    isEnded: polled.status === "C" || polled.status === "P",
  };
}

export async function callState(ports: FunctionPorts, call: InstanceCall): Promise<FunctionAnswer> {
  const state = await renderState(ports, call.polled, call.asker);
  return unlessKnown(state, call.isKnown, () => state.json);
}

async function stateBody(ports: FunctionPorts, levels: Levels, asker: Asker) {
  const roles = askedOnce(ports);
  const [{ instance: polled, workflow }] = levels;
  const shown = deepest(levels);
  const offers = await allowedOffers(roles, levels, asker.viewer);
  const wizard = wizardOffer(shown, offers);
  const place: ViewPlace = {
    at: shown,
    transition:
      wizard !== undefined && wizard.transition.view.length > 0 ? wizard.transition : undefined,
  };
  const view = {
    ...(await viewLink(ports, place, false)),
    href: functionHref(polled, "view"),
  };
  const [entry] = entriesOf(place);
  const extensions = [...new Set([...listed(asker, "extensions"), ...(entry?.extensions ?? [])])];
  const transitions = [
    ...(await Promise.all(
      offers.map((offer) => offerItem(ports, polled, offer, offer === wizard)),
    )),
    ...(await scheduledItems(ports, levels)),
  ];
  return {
    data: {
      href: functionHref(
        polled,
        "data",
        extensions.map((name) => ["extensions", name] as const),
      ),
    },
    hasView: view.hasView,
    view,
    master: { href: functionHref(polled, "master") },
    state: await shownState(roles, levels, asker),
    stateType: shown.instance.current.type,
    status: shown.instance.status,
    ...(await correlationsOf(ports, levels)),
    transitions,
    functions: {
      hasFunctions: workflow.functions.length > 0,
      href: functionHref(polled, "catalog"),
    },
    ...(await interactionOf(ports, roles, levels, asker)),
    incident: incidentLinks(levels),
  };
}

/** Aliases are of the instance's own state; a subflow's state is shown as it is called. */
async function shownState(roles: RolePorts, levels: Levels, asker: Asker): Promise<string> {
  const { instance, workflow } = deepest(levels);
  const { key } = instance.current;
  if (levels.length > 1) return key;
  for (const alias of workflow.states.get(key)?.alias ?? []) {
    const caller = await roleCaller(roles, alias.roles, instance, asker.viewer);
    if (!rolesAllow(alias.roles, caller)) continue;
    return pickLabel(alias.labels, asker.language) ?? alias.name;
  }
  return key;
}

interface ViewLink {
  readonly hasView: boolean;
  readonly loadData: boolean;
  readonly renderer?: string;
}

async function viewLink(
  ports: FunctionPorts,
  place: ViewPlace,
  loadData: boolean,
): Promise<ViewLink> {
  const [entry] = entriesOf(place);
  const renderer = await rendererOf(ports, place);
  return {
    hasView: entry !== undefined,
    loadData: entry?.loadData ?? loadData,
    ...(renderer === undefined ? {} : { renderer }),
  };
}

/** `isShown`: the state's own link leads to its view already. */
async function offerItem(
  ports: FunctionPorts,
  polled: Instance,
  { kind, transition, at }: AllowedOffer,
  isShown: boolean,
): Promise<object> {
  const { key } = transition;
  const link = isShown
    ? { hasView: false, loadData: true }
    : await viewLink(ports, { at, transition }, true);
  return {
    name: key,
    key,
    kind,
    ...linksOf(polled, key, link, transition.schema.length > 0),
    annotations: transition.annotations,
  };
}

/** The same three for every entry of the list: clients read them without a look at its kind. */
function linksOf(polled: Instance, key: string, view: ViewLink, hasSchema: boolean) {
  const query = [["transitionKey", key]] as const;
  return {
    href: transitionHref(polled, key),
    view: { ...view, href: functionHref(polled, "view", query) },
    schema: { hasSchema, href: functionHref(polled, "schema", query) },
  };
}

/** What time will do: a call of one is refused, everybody may know. Asked for only where there are any. */
async function scheduledItems({ store }: FunctionPorts, levels: Levels): Promise<object[]> {
  const items = await Promise.all(
    levels.map(async ({ instance, workflow }) => {
      const own = workflow.states.get(instance.current.key)?.transitions ?? [];
      const scheduled = own.filter(({ triggerType }) => triggerType === "scheduled");
      if (scheduled.length === 0 || instance.status === "C" || instance.status === "P") return [];
      const timers = await store.timers(instance.id);
      return timers.flatMap(({ sourceState, transitionKey, dueAt }) => {
        const transition = scheduled.find(({ key }) => key === transitionKey);
        if (transition === undefined || sourceState !== instance.current.key) return [];
        return [{ transition, dueAt }];
      });
    }),
  );
  return items
    .flat()
    .toSorted((a, b) => a.dueAt.getTime() - b.dueAt.getTime())
    .map(({ transition: { key, annotations }, dueAt }) => ({
      name: key,
      key,
      kind: "scheduled",
      executeAtUtc: dueAt.toISOString(),
      ...linksOf(levels[0].instance, key, { hasView: false, loadData: false }, false),
      annotations,
    }));
}

/** The open incident may be a subflow's; its history is asked for at the instance itself. */
function incidentLinks(levels: Levels): object {
  const owner = levels.find(({ instance }) => instance.hasActiveIncident);
  const history = { href: `${instanceHref(levels[0].instance)}/incidents` };
  if (owner === undefined) return { hasActiveIncident: false, history };
  const active = { href: `${instanceHref(owner.instance)}/incidents/active` };
  return { hasActiveIncident: true, active, history };
}
