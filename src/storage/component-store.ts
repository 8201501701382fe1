import type { Author, InstanceState } from "../engine/instance.ts";
import type { Component, ComponentAddress, ComponentVersion } from "../engine/component.ts";

export interface NewComponentVersion extends ComponentAddress {
  version: string;
  flowVersion: string;
  /** Joined to the tags the component has already. */
  tags: string[];
  attributesText: string;
}

/** A record of master data that a workflow brings along: an instance that no transition started. */
export interface SeedInstance {
  domain: string;
  flow: string;
  flowVersion: string;
  state: InstanceState;
  key: string;
  version: string;
  tags: string[];
  dataText: string;
}

export interface PublishOutcome {
  /** What this call stored, in order. */
  stored: ComponentVersion[];
  /** What was there before it. */
  existing: NewComponentVersion[];
}

/** What the runtime needs to keep definitions. One implementation: PostgreSQL. */
export interface ComponentStore {
  /**
   * Stores the versions and the seeds that do not exist yet, all of them or none. Publishes of all nodes follow
   * each other: of two simultaneous calls with the same version exactly one stores it.
   */
  publish(
    versions: NewComponentVersion[],
    seeds: SeedInstance[],
    author: Author,
  ): Promise<PublishOutcome>;

  /** The versions that came after `revision`, oldest first, and the revision they lead to. */
  changesSince(revision: number): Promise<{ revision: number; versions: ComponentVersion[] }>;

  /** The revision alone: one row by primary key, for the poll. */
  revision(): Promise<number>;

  find(componentId: string, version: string): Promise<Component | undefined>;

  /** Record id (uuid) of a component → its address. */
  findAddress(componentId: string): Promise<ComponentAddress | undefined>;

  /** Tells the other nodes. A hint only: they poll as well. */
  announce(message: string): Promise<void>;
}
