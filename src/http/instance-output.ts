/**
 * `GetInstanceOutput` as it goes over the wire. The instance's data is JSON text already and is
 * passed through untouched: nothing is parsed on the way out, and numbers stay as they were sent.
 */
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
  tags: string[];
  metadata: InstanceMetadata;
  /** JSON text; undefined while the instance has no data. */
  attributesText: string | undefined;
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

export function instanceJson(output: InstanceOutput): string {
  const { attributesText, metadata, ...head } = output;
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
  return `${start.slice(0, -1)}${attributes},"extensions":{}}`;
}
