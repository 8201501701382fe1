/** What starts and transitions leave: the header of their answer, and the history. */
import type { Instance } from "../engine/instance.ts";
import { parseJson } from "../engine/exact-json.ts";
import { jsonText } from "../engine/json-text.ts";
import type { StoredRecord } from "../runtime/instances.ts";
import type { Sight } from "../runtime/sight.ts";

/** `{domain},{workflow},{version},{instanceId}`. */
export const workflowHeader = ({ domain, flow, flowVersion, id }: Instance): string =>
  `${domain},${flow},${flowVersion},${id}`;

export const historyJson = (records: readonly StoredRecord[], sight: Sight): string =>
  `{"transitions":[${records.map((record) => recordJson(record, sight)).join(",")}]}`;

function recordJson(record: StoredRecord, sight: Sight): string {
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
  const bodyText = record.bodyText === undefined ? undefined : seenText(record.bodyText, sight);
  const body = bodyText === undefined ? "" : `,"body":${bodyText}`;
  const header = record.headerText === undefined ? "" : `,"header":${record.headerText}`;
  return `${head.slice(0, -1)}${body}${header}}`;
}

/** A body is what was merged into the data, so the rules of the data hold for it. */
function seenText(bodyText: string, sight: Sight): string | undefined {
  if (sight.tag === "") return bodyText;
  const visible = sight.of(parseJson(bodyText));
  return visible === undefined ? undefined : jsonText(visible);
}
