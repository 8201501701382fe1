/** The answers to a start and a transition, and the history they leave. */
import { jsonText } from "../engine/json-text.ts";
import type { Instance } from "../engine/instance.ts";
import type { Outcome } from "../runtime/instances.ts";
import type { StoredRecord } from "../runtime/instances.ts";
import { instanceEtag } from "./instance-etag.ts";

/** StartInstanceOutput / TransitionOutput; `{ id, key, status }` for what was only accepted. */
export function outcomeJson({ instance, accepted }: Outcome): string {
  const { id, key, status } = instance;
  if (accepted) return JSON.stringify({ id, key, status });
  const head = JSON.stringify({
    id,
    key,
    status,
    eTag: instanceEtag(instance),
    entityEtag: `"${instance.entityEtag}"`,
    extensions: {},
  });
  return instance.data === undefined
    ? head
    : `${head.slice(0, -1)},"attributes":${jsonText(instance.data)}}`;
}

/** `{domain},{workflow},{version},{instanceId}`. */
export const workflowHeader = ({ domain, flow, flowVersion, id }: Instance): string =>
  `${domain},${flow},${flowVersion},${id}`;

export const historyJson = (records: readonly StoredRecord[]): string =>
  `{"transitions":[${records.map(recordJson).join(",")}]}`;

function recordJson(record: StoredRecord): string {
  const { effective, startedAt, finishedAt, author } = record;
  const head = JSON.stringify({
    id: record.id,
    transitionKey: record.transitionKey,
    transitionId: record.transitionKey,
    fromState: record.fromState,
    toState: record.toState,
    effectiveState: effective?.key ?? null,
    effectiveStateType: effective?.type ?? null,
    effectiveStateSubType: effective?.subType ?? null,
    stage: record.stage ?? null,
    startedAt,
    finishedAt,
    durationSeconds:
      finishedAt === undefined ? undefined : (finishedAt.getTime() - startedAt.getTime()) / 1000,
    triggerType: record.trigger,
    createdAt: startedAt,
    createdBy: author.actor,
    createdByBehalfOf: author.behalfOf,
  });
  const body = record.bodyText === undefined ? "" : `,"body":${record.bodyText}`;
  const header = record.headerText === undefined ? "" : `,"header":${record.headerText}`;
  return `${head.slice(0, -1)}${body}${header}}`;
}
