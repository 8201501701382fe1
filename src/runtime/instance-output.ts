/**
 * `GetInstanceOutput` as it goes over the wire. The instance's data is JSON text already and is
 * passed through untouched: nothing is parsed on the way out, and numbers stay as they were sent.
 */
import type { Component } from "../engine/component.ts";
import { stringifyJson } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";

export interface IncidentLinks {
  hasActiveIncident: boolean;
  totalCount?: number;
}

export interface InstanceOutput {
  id: string;
  key: string | undefined;
  flow: string;
  domain: string;
  flowVersion: string;
  /** Absent in lists. */
  eTag?: string;
  entityEtag: string;
  tags: readonly string[];
  metadata: InstanceMetadata;
  /** JSON text; undefined while the instance has no data. */
  attributesText: string | undefined;
  /** JSON text of an object; absent in lists. */
  extensionsText?: string;
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
  instance: Omit<Instance, "data">,
  attributesText: string | undefined,
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
    incident: { hasActiveIncident: instance.hasActiveIncident },
  },
  attributesText,
});

/** As a read of one instance shows it. */
export const fullOutput = (instance: Instance): InstanceOutput => {
  const text = instance.data === undefined ? undefined : stringifyJson(instance.data);
  const output = instanceOutput(instance, text);
  output.metadata.incident.totalCount = instance.incidentCount;
  return { ...output, extensionsText: "{}" };
};

const secondsBetween = (from: Date, to: Date | undefined) =>
  to === undefined ? undefined : (to.getTime() - from.getTime()) / 1000;

export function instanceJson(output: InstanceOutput): string {
  const { attributesText, extensionsText, metadata, ...head } = output;
  const { incident, ...rest } = metadata;
  const incidents = `/api/v1/${encodeURIComponent(output.domain)}/workflows/${encodeURIComponent(output.flow)}/instances/${output.id}/incidents`;
  const links = {
    hasActiveIncident: incident.hasActiveIncident,
    totalCount: incident.totalCount,
    active: incident.hasActiveIncident ? { href: `${incidents}/active` } : undefined,
    history: { href: incidents },
  };
  const start = JSON.stringify({ ...head, metadata: { ...rest, incident: links } });
  const attributes = attributesText === undefined ? "" : `,"attributes":${attributesText}`;
  const extensions = extensionsText === undefined ? "" : `,"extensions":${extensionsText}`;
  return `${start.slice(0, -1)}${attributes}${extensions}}`;
}

/** What an instance's data function answers. */
export function dataJson({
  attributesText,
  eTag,
  entityEtag,
  extensionsText = "{}",
}: InstanceOutput): string {
  const head = JSON.stringify({ eTag, entityEtag });
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
    incident: { hasActiveIncident: false },
  },
  attributesText: component.attributesText,
  extensionsText: "{}",
});
