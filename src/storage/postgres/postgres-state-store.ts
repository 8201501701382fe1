/** The state store that needs no set-up: rows of the product's own database, by its clock. */
import { parseJson, stringifyJson } from "../../engine/exact-json.ts";
import type { StateStore } from "../state-store.ts";
import type { Queries } from "./database.ts";
import { stateFilterSql } from "./state-filter-sql.ts";

const findEntry = {
  name: "find-state-entry",
  text: `
    select value::text as value, etag from state_entry
    where store = $1 and key = $2 and (expires_at is null or expires_at > now())`,
};

/** $6: whether only an absent entry may be written. One whose time is over is absent. */
const putEntry = {
  name: "put-state-entry",
  text: `
    insert into state_entry as entry (store, key, value, writer, written_at, expires_at)
    values ($1, $2, $3::jsonb, $4, now(), now() + make_interval(secs => $5::double precision))
    on conflict (store, key) do update
      set value = excluded.value, etag = excluded.etag, writer = excluded.writer,
        written_at = excluded.written_at, expires_at = excluded.expires_at
      where not $6::boolean or entry.expires_at <= now() or entry.writer = $4
    returning etag`,
};

/** Over the entry that has the etag in $6, or that an earlier attempt of the same write left. */
const replaceEntry = {
  name: "replace-state-entry",
  text: `
    update state_entry
      set value = $3::jsonb, etag = nextval('state_entry_etag'), writer = $4, written_at = now(),
        expires_at = now() + make_interval(secs => $5::double precision)
      where store = $1 and key = $2 and (expires_at is null or expires_at > now())
        and (etag::text = $6 or writer = $4)
    returning etag`,
};

/** What has expired goes whatever its etag was; answers whether something else stands in the way. */
const deleteEntry = {
  name: "delete-state-entry",
  text: `
    with gone as (
      delete from state_entry where store = $1 and key = $2
        and ($3::text is null or etag::text = $3 or expires_at <= now())
      returning 1)
    select exists (select 1 from gone) or not exists (
      select 1 from state_entry where store = $1 and key = $2) as done`,
};

const deleteEntries = {
  name: "delete-state-entries",
  text: "delete from state_entry where store = $1 and key = any($2::text[])",
};

export function createPostgresStateStore(queries: Queries, store: string): StateStore {
  return {
    async get(key) {
      const [row] = await queries.query<{ value: string; etag: number }>(findEntry, [store, key]);
      return row && { value: parseJson(row.value), etag: String(row.etag) };
    },
    async set(key, value, { ttlSeconds, when = "always", writer } = {}) {
      const isPut = typeof when === "string";
      const [row] = await queries.query<{ etag: number }>(isPut ? putEntry : replaceEntry, [
        store,
        key,
        stringifyJson(value),
        writer ?? null,
        ttlSeconds ?? null,
        isPut ? when === "absent" : when.etag,
      ]);
      return row === undefined ? "conflict" : { etag: String(row.etag) };
    },
    async delete(key, { when = "always" } = {}) {
      const etag = when === "always" ? null : when.etag;
      const [row] = await queries.query<{ done: boolean }>(deleteEntry, [store, key, etag]);
      return etag === null || row?.done === true ? "deleted" : "conflict";
    },
    async deleteMany(keys) {
      await queries.query(deleteEntries, [store, keys]);
    },
    async deleteMatching(prefix, filter) {
      const values: unknown[] = [store, prefix];
      const condition = stateFilterSql(filter, values);
      const rows = await queries.query(
        `delete from state_entry where store = $1 and starts_with(key, $2)
           and (expires_at is null or expires_at > now()) and ${condition} returning 1`,
        values,
      );
      return rows.length;
    },
    close: async () => {},
  };
}
