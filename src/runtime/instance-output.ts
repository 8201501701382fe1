/**
 * `GetInstanceOutput` as it goes over the wire. The instance's data is JSON text already and is
 * passed through untouched: numbers stay as they were sent.
 */
import type { Component } from "../engine/component.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { jsonText } from "../engine/json-text.ts";

export interface IncidentLinks {
  hasActiveIncident: boolean;
  /** Absent in lists. */
  totalCount: number | undefined;
  active: { href: string } | undefined;
  history: { href: string };
}

export interface InstanceOutput {
  readonly id: string;
  readonly key: string | undefined;
  readonly flow: string;
  readonly domain: string;
  readonly flowVersion: string;
  readonly entityEtag: string;
  readonly tags: readonly string[];
  readonly metadata: InstanceMetadata;
  /** JSON text; undefined while the instance has no data. Asked for only when it is sent. */
  readonly attributesText: () => string | undefined;
}

export interface InstanceMetadata {
  currentState: string;
  effectiveState: string;
  status: string;
  effectiveStateType: string;
  effectiveStateSubType: string;
  currentStateType: string;
  currentStateSubType: string;
  stage?: string | undefined;
  completedAt?: Date | undefined;
  duration?: number | undefined;
  createdAt: Date;
  modifiedAt?: Date | undefined;
  createdBy?: string | undefined;
  createdByBehalfOf?: string | undefined;
  modifiedBy?: string | undefined;
  modifiedByBehalfOf?: string | undefined;
  incident: IncidentLinks;
}

/** What every way of reading an instance shows of it. */
export const instanceOutput = (
  instance: Instance,
  attributesText: () => string | undefined,
  incidentCount?: number,
): InstanceOutput => ({
  id: instance.id,
  key: instance.key,
  flow: instance.flow,
  domain: instance.domain,
  flowVersion: instance.flowVersion,
  entityEtag: `"${instance.entityEtag}"`,
  tags: instance.tags,
  metadata: {
    currentState: instance.current.key,
    effectiveState: instance.effective.key,
    status: instance.status,
    effectiveStateType: instance.effective.type,
    effectiveStateSubType: instance.effective.subType,
    currentStateType: instance.current.type,
    currentStateSubType: instance.current.subType,
    stage: instance.stage,
    completedAt: instance.completedAt,
    duration: secondsBetween(instance.createdAt, instance.completedAt),
    createdAt: instance.createdAt,
    modifiedAt: instance.modifiedAt,
    createdBy: instance.createdBy.actor,
    createdByBehalfOf: instance.createdBy.behalfOf,
    modifiedBy: instance.modifiedBy.actor,
    modifiedByBehalfOf: instance.modifiedBy.behalfOf,
    incident: incidentLinks(instance, instance.hasActiveIncident, incidentCount),
  },
  attributesText,
});

function incidentLinks(
  { domain, flow, id }: Pick<Instance, "domain" | "flow" | "id">,
  hasActiveIncident: boolean,
  totalCount?: number,
): IncidentLinks {
  const history = `/api/v1/${encodeURIComponent(domain)}/workflows/${encodeURIComponent(flow)}/instances/${id}/incidents`;
  return {
    hasActiveIncident,
    totalCount,
    active: hasActiveIncident ? { href: `${history}/active` } : undefined,
    history: { href: history },
  };
}

/** As a read of one instance shows it, with the data the reader may see. */
export const fullOutput = (instance: Instance, data: JsonValue | undefined): InstanceOutput =>
  instanceOutput(
    instance,
    () => (data === undefined ? undefined : jsonText(data)),
    instance.incidentCount,
  );

const secondsBetween = (from: Date, to: Date | undefined) =>
  to === undefined ? undefined : (to.getTime() - from.getTime()) / 1000;

/** What goes with an instance that is read by itself; absent in lists. */
export interface ReadOutput {
  readonly eTag: string;
  /** JSON text of an object. */
  readonly extensionsText: string;
}

export function instanceJson(output: InstanceOutput, read?: ReadOutput): string {
  const start = JSON.stringify({
    id: output.id,
    key: output.key,
    flow: output.flow,
    domain: output.domain,
    flowVersion: output.flowVersion,
    eTag: read?.eTag,
    entityEtag: output.entityEtag,
    tags: output.tags,
    metadata: output.metadata,
  });
  const attributesText = output.attributesText();
  const attributes = attributesText === undefined ? "" : `,"attributes":${attributesText}`;
  const extensions = read === undefined ? "" : `,"extensions":${read.extensionsText}`;
  return `${start.slice(0, -1)}${attributes}${extensions}}`;
}

/** What an instance's data function answers. */
export function dataJson(output: InstanceOutput, { eTag, extensionsText }: ReadOutput): string {
  const head = JSON.stringify({ eTag, entityEtag: output.entityEtag });
  const attributesText = output.attributesText();
  const data = attributesText === undefined ? "" : `,"data":${attributesText}`;
  return `${head.slice(0, -1)},"extensions":${extensionsText}${data}}`;
}

/** A record of a system flow rests in its only state for ever. */
export const componentOutput = (component: Component): InstanceOutput => ({
  id: component.id,
  key: component.key,
  flow: component.kind,
  domain: component.domain,
  flowVersion: component.flowVersion,
  entityEtag: `"${component.entityEtag}"`,
  tags: component.tags,
  metadata: {
    currentState: "active",
    effectiveState: "active",
    status: "A",
    effectiveStateType: "intermediate",
    effectiveStateSubType: "none",
    currentStateType: "intermediate",
    currentStateSubType: "none",
    createdAt: component.createdAt,
    modifiedAt: component.modifiedAt,
    createdBy: component.createdBy,
    createdByBehalfOf: component.createdByBehalfOf,
    modifiedBy: component.modifiedBy,
    modifiedByBehalfOf: component.modifiedByBehalfOf,
    incident: incidentLinks({ ...component, flow: component.kind }, false),
  },
  attributesText: () => component.attributesText,
});
