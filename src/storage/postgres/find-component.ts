import type { Component, ComponentAddress } from "../../engine/component.ts";
import type { ComponentKind } from "../../engine/component-kind.ts";
import type { Queries } from "./database.ts";

const byVersion = {
  name: "find-component",
  text: `
    select c.id, c.domain, c.flow, c.key, c.tags, c.created_at, c.created_by, c.created_by_behalf_of,
      c.modified_at, c.modified_by, c.modified_by_behalf_of,
      v.version, v.flow_version, v.attributes, v.entity_etag, v.revision
    from component c join component_version v on v.component_id = c.id
    where c.id = $1 and v.version = $2`,
};

interface ComponentRow {
  id: string;
  domain: string;
  flow: ComponentKind;
  key: string;
  tags: string[];
  created_at: Date;
  created_by: string | null;
  created_by_behalf_of: string | null;
  modified_at: Date;
  modified_by: string | null;
  modified_by_behalf_of: string | null;
  version: string;
  flow_version: string;
  attributes: string;
  entity_etag: string;
  revision: number;
}

export async function findComponent(
  queries: Queries,
  componentId: string,
  version: string,
): Promise<Component | undefined> {
  const [row] = await queries.query<ComponentRow>(byVersion, [componentId, version]);
  if (row === undefined) return undefined;
  return {
    id: row.id,
    componentId: row.id,
    domain: row.domain,
    kind: row.flow,
    key: row.key,
    tags: row.tags,
    version: row.version,
    flowVersion: row.flow_version,
    attributes: JSON.parse(row.attributes) as Record<string, unknown>,
    attributesText: row.attributes,
    entityEtag: row.entity_etag,
    revision: row.revision,
    createdAt: row.created_at,
    createdBy: row.created_by ?? undefined,
    createdByBehalfOf: row.created_by_behalf_of ?? undefined,
    modifiedAt: row.modified_at,
    modifiedBy: row.modified_by ?? undefined,
    modifiedByBehalfOf: row.modified_by_behalf_of ?? undefined,
  };
}

const addressById = {
  name: "find-component-address",
  text: "select domain, flow as kind, key from component where id = $1",
};

export async function findComponentAddress(
  queries: Queries,
  componentId: string,
): Promise<ComponentAddress | undefined> {
  const [row] = await queries.query<ComponentAddress>(addressById, [componentId]);
  return row;
}
