/** What starts and transitions leave: the header of their answer, and the history. */
import { stateSubType, stateType, triggerType } from "../engine/definition/enumerations.ts";
import type { Instance } from "../engine/instance.ts";
import { parseJson } from "../engine/exact-json.ts";
import { jsonText } from "../engine/json-text.ts";
import { shownHeaders } from "../engine/mask-secrets.ts";
import type { StoredRecord } from "../runtime/instances.ts";
import type { Sight } from "../runtime/sight.ts";
import { Type } from "./schema.ts";

const moment = Type.String({ format: "date-time" });
const orNull = (words: readonly string[]) =>
  Type.Union([Type.Enum([...words]), Type.Null()], { description: "null until it is done" });

/** How `historyJson` stands in the API document. */
export const TransitionHistory = Type.Object({
  transitions: Type.Array(
    Type.Object({
      id: Type.String({ format: "uuid" }),
      transitionKey: Type.String(),
      transitionId: Type.String({ description: "the same as `transitionKey`" }),
      fromState: Type.String(),
      toState: Type.Optional(Type.String({ description: "absent until it is done" })),
      effectiveState: Type.Union([Type.String(), Type.Null()], {
        description: "null until it is done",
      }),
      effectiveStateType: orNull(stateType.words),
      effectiveStateSubType: orNull(stateSubType.words),
      stage: Type.Union([Type.String(), Type.Null()]),
      startedAt: moment,
      finishedAt: Type.Optional(moment),
      durationSeconds: Type.Optional(Type.Number()),
      triggerType: Type.Enum([...triggerType.words]),
      createdAt: moment,
      createdBy: Type.Optional(Type.String()),
      createdByBehalfOf: Type.Optional(Type.String()),
      body: Type.Optional(Type.Unknown({ description: "as the mapping made it" })),
      header: Type.Optional(
        Type.Object({}, { additionalProperties: Type.String(), description: "credentials masked" }),
      ),
    }),
  ),
});

/** `{domain},{workflow},{version},{instanceId}`. */
export const workflowHeader = ({ domain, flow, flowVersion, id }: Instance): string =>
  `${domain},${flow},${flowVersion},${id}`;

export const historyJson = (records: readonly StoredRecord[], sight: Sight): string =>
  `{"transitions":[${recordsJson(records, sight)}]}`;

/** The same, a page at a time. None of the pages is empty but the last may be. */
export async function* historyParts(
  first: readonly StoredRecord[],
  second: readonly StoredRecord[],
  others: AsyncIterable<readonly StoredRecord[]>,
  sight: Sight,
): AsyncGenerator<string> {
  const next = (page: readonly StoredRecord[]) =>
    page.length === 0 ? "" : `,${recordsJson(page, sight)}`;
  yield `{"transitions":[${recordsJson(first, sight)}`;
  yield next(second);
  for await (const page of others) yield next(page);
  yield "]}";
}

const recordsJson = (records: readonly StoredRecord[], sight: Sight): string =>
  records.map((record) => recordJson(record, sight)).join(",");

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
  const header =
    record.headerText === undefined ? "" : `,"header":${shownHeaderText(record.headerText)}`;
  return `${head.slice(0, -1)}${body}${header}}`;
}

const shownHeaderText = (headerText: string): string =>
  JSON.stringify(shownHeaders(JSON.parse(headerText) as Record<string, string>));

/** A body is what was merged into the data, so the rules of the data hold for it. */
function seenText(bodyText: string, sight: Sight): string | undefined {
  if (sight.tag === "") return bodyText;
  const visible = sight.of(parseJson(bodyText));
  return visible === undefined ? undefined : jsonText(visible);
}
