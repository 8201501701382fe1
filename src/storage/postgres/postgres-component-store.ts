import type { Ids } from "../../ids.ts";
import type { ComponentStore } from "../component-store.ts";
import { catalogueRevision, componentChanges } from "./component-changes.ts";
import type { Database } from "./database.ts";
import { findComponent, findComponentAddress } from "./find-component.ts";
import { publishComponents } from "./publish-components.ts";
import { seedInstance } from "./seed-instance.ts";

export const createComponentStore = (database: Database, ids: Ids): ComponentStore => ({
  publish: (versions, seeds, author) =>
    database.transaction(async (queries) => {
      const outcome = await publishComponents(queries, ids, versions, author);
      for (const seed of seeds) await seedInstance(queries, ids, seed, author);
      return outcome;
    }),
  changesSince: (revision) => componentChanges(database, revision),
  revision: () => catalogueRevision(database),
  find: (componentId, version) => findComponent(database, componentId, version),
  findAddress: (componentId) => findComponentAddress(database, componentId),
  async announce(message) {
    await database.query("select pg_notify('millrace_catalogue', $1)", [message]);
  },
});
