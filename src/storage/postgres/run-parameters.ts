/**
 * What runs want written, as JSON texts: one array per table, read by the statements of
 * `write-runs.ts` with `json_to_recordset`. Documents are spliced in as they are, neither escaped a
 * second time nor parsed, so their numbers arrive as they were sent.
 */
import {
  stateSubTypeCodes,
  stateTypeCodes,
  triggerTypeCodes,
} from "../../engine/enumeration-codes.ts";
import type { JsonValue } from "../../engine/exact-json.ts";
import { formatJobName, JobType } from "../../engine/job-name.ts";
import { jsonText } from "../../engine/json-text.ts";
import type { TransitionRecord } from "../../engine/transition/run.ts";
import type { JobToAdd, RunWrite } from "../instance-store.ts";

const array = (rows: readonly string[]) => `[${rows.join(",")}]`;

const rowsOf = (writes: readonly RunWrite[], rows: (write: RunWrite) => readonly string[]) =>
  array(writes.flatMap(rows));

/** `{…}` with one more member, whose value is JSON text already. */
const withJson = (object: object, name: string, value: JsonValue | undefined) => {
  const text = JSON.stringify(object);
  if (value === undefined) return text;
  return `${text.slice(0, -1)},"${name}":${jsonText(value)}}`;
};

export const instanceRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance: i, dataChanged, childChanged, addCorrelations }) => [
    withJson(
      {
        id: i.id,
        base: i.rev,
        domain: i.domain,
        flow: i.flow,
        key: i.key,
        flow_version: i.flowVersion,
        status: i.status,
        last_seq: i.lastSeq,
        current_state: i.current.key,
        current_state_type: stateTypeCodes.codeOf(i.current.type),
        current_state_sub_type: stateSubTypeCodes.codeOf(i.current.subType),
        effective_state: i.effective.key,
        effective_state_type: stateTypeCodes.codeOf(i.effective.type),
        effective_state_sub_type: stateSubTypeCodes.codeOf(i.effective.subType),
        stage: i.stage,
        tags: i.tags,
        data_changed: dataChanged,
        data_version: i.dataVersion,
        entity_etag: i.entityEtag,
        created_at: i.createdAt,
        created_by: i.createdBy.actor,
        created_by_behalf_of: i.createdBy.behalfOf,
        modified_at: i.modifiedAt,
        modified_by: i.modifiedBy.actor,
        modified_by_behalf_of: i.modifiedBy.behalfOf,
        completed_at: i.completedAt,
        incident_count: i.incidentCount,
        has_active_incident: i.hasActiveIncident,
        origin: i.origin === undefined ? undefined : JSON.stringify(i.origin),
        // One that brings its own correlation cannot be too late.
        is_expected: i.origin !== undefined && addCorrelations.length === 0,
        child_changed: childChanged,
        open_child: i.openChild?.id,
        open_child_domain: i.openChild?.domain,
        open_child_flow: i.openChild?.flow,
      },
      "data",
      dataChanged ? i.data : undefined,
    ),
  ]);

export const recordRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, (write) => write.records.map((record) => recordRow(record, write)));

function recordRow(r: TransitionRecord, { instance, outcome }: RunWrite): string {
  return withJson(
    {
      instance_id: instance.id,
      seq: r.seq,
      id: r.id,
      transition_key: r.transitionKey,
      from_state: r.fromState,
      to_state: r.toState,
      effective_state: r.effective?.key,
      effective_state_type:
        r.effective === undefined ? undefined : stateTypeCodes.codeOf(r.effective.type),
      effective_state_sub_type:
        r.effective === undefined ? undefined : stateSubTypeCodes.codeOf(r.effective.subType),
      stage: r.stage,
      trigger_type: triggerTypeCodes.codeOf(r.trigger),
      started_at: r.startedAt,
      finished_at: r.finishedAt,
      data_version: r.dataVersion,
      entity_etag: r.entityEtag,
      header: r.headers,
      created_by: r.author.actor,
      created_by_behalf_of: r.author.behalfOf,
      idempotency_key: r.idempotencyKey,
      outcome_status: outcome?.seq === r.seq ? instance.status : undefined,
      outcome_seq: outcome?.seq === r.seq ? instance.lastSeq : undefined,
    },
    "body",
    r.body,
  );
}

export const dataChangeRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance, dataChanges }) =>
    dataChanges.map((change) =>
      withJson(
        {
          instance_id: instance.id,
          record_seq: change.recordSeq,
          index: change.index,
          version: change.version,
          entity_etag: change.entityEtag,
        },
        "delta",
        change.delta,
      ),
    ),
  );

const nameOf = (job: JobToAdd) => formatJobName(job);

export const jobRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance, addJobs }) =>
    addJobs.map((job) =>
      JSON.stringify({
        writer: instance.id,
        id: job.id,
        name: nameOf(job),
        kind: job.type,
        instance_id: job.instanceId,
        source_state: job.sourceState,
        transition_key: job.transitionKey,
        payload: job.payload,
        owner: job.owner,
        delay_ms: job.delayMs === undefined ? undefined : Math.min(job.delayMs, longestDelayMs),
        due_at: job.dueAt === undefined || job.dueAt < farthest ? job.dueAt : farthest,
      }),
    ),
  );

/** The last moment that every client can write; what lies behind it never comes. */
const farthest = new Date("9999-12-31T00:00:00Z");
const longestDelayMs = 7000 * 365 * 86_400_000;

const nobody = "00000000-0000-0000-0000-000000000000";

/** What is taken away. A timer that is armed anew under the same name is replaced, not removed. */
export const jobRemovalRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance, leftStates, addJobs, removeJob, endsOthers }) => {
    const rows: string[] = [];
    const instance_id = instance.id;
    const keep = addJobs.filter((job) => job.type === JobType.scheduled).map(nameOf);
    if (instance.status === "C")
      rows.push(JSON.stringify({ instance_id, everything: true, keep: [] }));
    else if (leftStates.length > 0) {
      rows.push(JSON.stringify({ instance_id, states: leftStates, keep }));
    }
    if (endsOthers !== undefined) {
      const { ownJob = nobody, spared } = endsOthers;
      rows.push(JSON.stringify({ instance_id, other_than: ownJob, spared, keep: [] }));
    }
    if (removeJob !== undefined)
      rows.push(JSON.stringify({ instance_id, job_id: removeJob, keep }));
    return rows;
  });

export const checkpointRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance, checkpoint }) =>
    checkpoint === undefined
      ? []
      : [
          JSON.stringify({
            instance_id: instance.id,
            job_id: checkpoint.jobId,
            payload: checkpoint.payload,
          }),
        ],
  );

/** A script says what it likes, and half a character is left where a text is cut. */
const storable = (text: string, length: number): string =>
  text
    .slice(0, length)
    .replaceAll(/\p{Surrogate}/gu, "\ufffd")
    .replaceAll("\u0000", "\ufffd");

export const incidentRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance, incidents }) =>
    incidents.map((incident, i) =>
      JSON.stringify({
        id: incident.id,
        instance_id: instance.id,
        number: instance.incidentCount - incidents.length + 1 + i,
        state: incident.state,
        transition: incident.transition,
        task: incident.failure.task,
        message: storable(incident.failure.message, 1024),
        error_code: storable(incident.failure.code, 256),
        error_layer: incident.failure.layer,
        status_code: incident.failure.statusCode,
        boundary_action: incident.boundary?.action,
        boundary_level: incident.boundary?.level,
        trace_id: incident.traceId,
        retry_count: incident.retryCount,
        is_resolved: incident.isResolved,
        resume: incident.resume,
      }),
    ),
  );

/** What happens to rows of others: parents that wait, children that were left, earlier incidents. */
export const relativeRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, (write) => {
    const { instance, resolvesIncidents, endedChildren, ownOutcome, showsTo } = write;
    const writer = instance.id;
    const { effective } = instance;
    const rows = endedChildren.map(({ id, outcome }) =>
      JSON.stringify({ writer, what: "ended", other: id, outcome }),
    );
    if (resolvesIncidents !== undefined) {
      const retried = resolvesIncidents === "retried" ? 1 : 0;
      rows.push(JSON.stringify({ writer, what: "resolved", retried }));
    }
    if (ownOutcome !== undefined) {
      const outcome = ownOutcome === "none" ? undefined : ownOutcome;
      rows.push(JSON.stringify({ writer, what: "outcome", other: writer, outcome }));
    }
    for (const [i, ancestor] of showsTo.entries()) {
      rows.push(
        JSON.stringify({
          writer,
          what: "shows",
          other: ancestor,
          // Each waits for the one before it, or has moved on.
          waits_for: showsTo[i - 1] ?? writer,
          state: effective.key,
          state_type: stateTypeCodes.codeOf(effective.type),
          state_sub_type: stateSubTypeCodes.codeOf(effective.subType),
        }),
      );
    }
    return rows;
  });

export const correlationRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance, addCorrelations }) =>
    addCorrelations.map((it) =>
      JSON.stringify({
        writer: instance.id,
        id: it.id,
        parent_id: it.parentId ?? instance.id,
        parent_state: it.parentState,
        child_id: it.childId,
        kind: it.type,
        child_domain: it.childDomain,
        child_flow: it.childFlow,
        child_version: it.childVersion,
      }),
    ),
  );

/** Outcomes whose record was written at a checkpoint; those of new records travel with them. */
export const outcomeRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance, outcome, records }) =>
    outcome === undefined || records.some((record) => record.seq === outcome.seq)
      ? []
      : [
          JSON.stringify({
            instance_id: instance.id,
            seq: outcome.seq,
            status: instance.status,
            last_seq: instance.lastSeq,
          }),
        ],
  );

export const closingRows = (writes: readonly RunWrite[]): string =>
  rowsOf(writes, ({ instance, records, endsOthers }) =>
    endsOthers === undefined
      ? []
      : [
          JSON.stringify({
            instance_id: instance.id,
            status: instance.status,
            last_seq: instance.lastSeq,
            own: [...records.map((record) => record.seq), endsOthers.ownSeq ?? 0],
            spared: endsOthers.spared,
          }),
        ],
  );
