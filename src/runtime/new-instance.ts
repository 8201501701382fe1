import type { Author, Instance, Origin } from "../engine/instance.ts";
import { problems } from "../engine/problems.ts";
import type { Program, Tools } from "../engine/transition/run.ts";

export interface NewInstance {
  id?: string | undefined;
  domain: string;
  key: string | undefined;
  author: Author;
  origin?: Origin | undefined;
}

/** An instance before its first transition, in the initial state; nothing of it is stored yet. */
export function newInstance(
  { workflow }: Program,
  { id, domain, key, author, origin }: NewInstance,
  tools: Tools,
): Instance {
  const initial = workflow.states.get(workflow.initialState);
  if (initial === undefined) {
    throw problems.startFailedNoInitialState({
      workflow: workflow.key,
      state: workflow.initialState,
    });
  }
  const state = { key: initial.key, type: initial.type, subType: initial.subType };
  const now = tools.now();
  return {
    id: id ?? tools.uuid(),
    domain,
    flow: workflow.key,
    key,
    flowVersion: workflow.version,
    status: "A",
    rev: 0,
    lastSeq: 0,
    current: state,
    effective: state,
    stage: undefined,
    tags: [],
    data: undefined,
    dataVersion: undefined,
    entityEtag: tools.ulid(),
    createdAt: now,
    createdBy: author,
    modifiedAt: undefined,
    modifiedBy: { actor: undefined, behalfOf: undefined },
    completedAt: undefined,
    hasActiveIncident: false,
    incidentCount: 0,
    origin,
    openChild: undefined,
  };
}
