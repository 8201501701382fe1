/**
 * `GetInstanceOutput` as it goes over the wire. The instance's data is JSON text already and is
 * passed through untouched: nothing is parsed on the way out, and numbers stay as they were sent.
 */
import { Type } from "./schema.ts";
import { stateSubType, stateType } from "../engine/definition/enumerations.ts";
import { InstanceStatus, type Instance } from "../engine/instance.ts";

const text = Type.Optional(Type.String());
const moment = Type.String({ format: "date-time" });
const Link = Type.Object({ href: Type.String() });

/** How the shape below stands in the API document. */
export const GetInstanceOutput = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    key: text,
    flow: Type.String(),
    domain: Type.String(),
    flowVersion: Type.String(),
    eTag: Type.Optional(Type.String({ description: "absent in lists" })),
    entityEtag: Type.String(),
    tags: Type.Array(Type.String()),
    metadata: Type.Object({
      currentState: Type.String(),
      effectiveState: Type.String({ description: "as seen from outside, in subflows too" }),
      status: Type.Enum(Object.values(InstanceStatus)),
      effectiveStateType: Type.Enum([...stateType.words]),
      effectiveStateSubType: Type.Enum([...stateSubType.words]),
      currentStateType: Type.Enum([...stateType.words]),
      currentStateSubType: Type.Enum([...stateSubType.words]),
      stage: text,
      completedAt: Type.Optional(moment),
      duration: Type.Optional(Type.Number({ description: "seconds from creation to completion" })),
      createdAt: moment,
      modifiedAt: Type.Optional(moment),
      createdBy: text,
      createdByBehalfOf: text,
      modifiedBy: text,
      modifiedByBehalfOf: text,
      incident: Type.Object({
        hasActiveIncident: Type.Boolean(),
        totalCount: Type.Optional(Type.Integer()),
        active: Type.Optional(Link),
        history: Link,
      }),
    }),
    attributes: Type.Optional(Type.Unknown()),
    extensions: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { $id: "GetInstanceOutput" },
);

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
