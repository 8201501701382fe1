/**
 * Stores component versions: the catalogue's row is locked first, so that publishes of all nodes
 * follow each other and revisions commit in order.
 */
import type { ComponentVersion } from "../../engine/component.ts";
import { compareVersions } from "../../engine/version.ts";
import type { Ids } from "../../ids.ts";
import type { Author } from "../../engine/instance.ts";
import type { NewComponentVersion, PublishOutcome } from "../component-store.ts";
import type { Queries } from "./database.ts";

const lockCatalogue = {
  name: "lock-catalogue",
  text: "select revision from catalogue for update",
};

const raiseRevision = {
  name: "raise-revision",
  text: "update catalogue set revision = $1",
};

const findVersion = {
  name: "find-component-version",
  text: `
    select c.id, c.latest_version,
      exists (select from component_version v where v.component_id = c.id and v.version = $4) as has_version
    from component c where c.domain = $1 and c.flow = $2 and c.key = $3`,
};

const insertVersion = {
  name: "insert-component-version",
  text: `
    with saved as (
      insert into component as c (id, domain, flow, key, tags, latest_version,
        created_at, created_by, created_by_behalf_of, modified_at, modified_by, modified_by_behalf_of)
      values ($1, $2, $3, $4, $5, $6, now(), $7, $8, now(), $7, $8)
      on conflict (domain, flow, key) do update set
        -- union, in the order the tags came
        tags = c.tags || array(select t from unnest(excluded.tags) t where t <> all (c.tags)),
        latest_version = excluded.latest_version,
        modified_at = excluded.modified_at,
        modified_by = excluded.modified_by,
        modified_by_behalf_of = excluded.modified_by_behalf_of
      returning id)
    insert into component_version (component_id, version, flow_version, attributes, entity_etag, revision, created_at)
    select id, $9, $10, $11, $12, $13, now() from saved
    returning component_id`,
};

const announceRevision = {
  name: "announce-revision",
  text: "select pg_notify('millrace_catalogue', $1)",
};

export async function publishComponents(
  queries: Queries,
  ids: Ids,
  versions: NewComponentVersion[],
  author: Author,
): Promise<PublishOutcome> {
  const [catalogue] = await queries.query<{ revision: number }>(lockCatalogue);
  const revision = catalogue!.revision + 1;
  const stored: ComponentVersion[] = [];
  const existing: NewComponentVersion[] = [];

  for (const v of versions) {
    const [found] = await queries.query<{
      id: string;
      latest_version: string;
      has_version: boolean;
    }>(findVersion, [v.domain, v.kind, v.key, v.version]);
    if (found?.has_version === true) {
      existing.push(v);
      continue;
    }
    const latest =
      found !== undefined && compareVersions(found.latest_version, v.version) > 0
        ? found.latest_version
        : v.version;
    const [inserted] = await queries.query<{ component_id: string }>(insertVersion, [
      found?.id ?? ids.uuid(),
      v.domain,
      v.kind,
      v.key,
      v.tags,
      latest,
      author.actor ?? null,
      author.behalfOf ?? null,
      v.version,
      v.flowVersion,
      v.attributesText,
      ids.ulid(),
      revision,
    ]);
    const { domain, kind, key, version, flowVersion } = v;
    const componentId = inserted!.component_id;
    stored.push({ domain, kind, key, version, flowVersion, componentId, revision });
  }

  if (stored.length > 0) {
    await queries.query(raiseRevision, [revision]);
    // Delivered at commit, so never before the rows can be read.
    await queries.query(announceRevision, [String(revision)]);
  }
  return { stored, existing };
}
