/**
 * Stores one version of a seed record: the instance is found by its key or made, the version is
 * skipped when it exists. The highest version is what readers get; an older one published later only
 * joins the history.
 */
import { stateSubTypeCodes, stateTypeCodes } from "../../engine/enumeration-codes.ts";
import type { Author } from "../../engine/instance.ts";
import { compareVersions } from "../../engine/version.ts";
import type { Ids } from "../../ids.ts";
import type { SeedInstance } from "../component-store.ts";
import type { Queries } from "./database.ts";

const findSeed = {
  name: "find-seed",
  text: `
    select i.id, i.data_version,
      (select count(*)::int from data_change c where c.instance_id = i.id and c.record_seq = 0) as changes,
      exists (select from data_change c
        where c.instance_id = i.id and c.record_seq = 0 and c.version = $4) as has_version
    from instance i
    where i.domain = $1 and i.flow = $2 and i.key = $3 and i.status not in ('C', 'P')
    for update of i`,
};

const insertSeed = {
  name: "insert-seed",
  text: `
    insert into instance (id, domain, flow, key, flow_version, status, rev, current_state,
      current_state_type, current_state_sub_type, effective_state, effective_state_type,
      effective_state_sub_type, tags, data, data_version, entity_etag, created_at, created_by,
      created_by_behalf_of)
    values ($1, $2, $3, $4, $5, 'A', 1, $6, $7, $8, $6, $7, $8, $9, $10::jsonb, $11, $12, now(), $13, $14)`,
};

const updateSeed = {
  name: "update-seed",
  text: `
    update instance set rev = rev + 1, data = $2::jsonb, data_version = $3, entity_etag = $4,
      tags = tags || array(select t from unnest($5::text[]) t where t <> all (tags)),
      modified_at = now(), modified_by = $6, modified_by_behalf_of = $7
    where id = $1`,
};

const insertChange = {
  name: "insert-seed-version",
  text: `
    insert into data_change (instance_id, record_seq, index, version, entity_etag, delta, replaces)
    values ($1, 0, $2, $3, $4, $5, true)`,
};

interface Found {
  id: string;
  data_version: string | null;
  changes: number;
  has_version: boolean;
}

export async function seedInstance(
  queries: Queries,
  ids: Ids,
  seed: SeedInstance,
  author: Author,
): Promise<void> {
  const { domain, flow, key, version, dataText } = seed;
  const [found] = await queries.query<Found>(findSeed, [domain, flow, key, version]);
  if (found?.has_version === true) return;
  const etag = ids.ulid();
  const id = found?.id ?? ids.uuid();
  const by = [author.actor ?? null, author.behalfOf ?? null];
  if (found === undefined) {
    const { state } = seed;
    await queries.query(insertSeed, [
      id,
      domain,
      flow,
      key,
      seed.flowVersion,
      state.key,
      stateTypeCodes.codeOf(state.type),
      stateSubTypeCodes.codeOf(state.subType),
      seed.tags,
      dataText,
      version,
      etag,
      ...by,
    ]);
  } else if (found.data_version === null || compareVersions(version, found.data_version) > 0) {
    await queries.query(updateSeed, [id, dataText, version, etag, seed.tags, ...by]);
  }
  await queries.query(insertChange, [id, found?.changes ?? 0, version, etag, dataText]);
}
