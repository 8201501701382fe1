import type { Component } from "../engine/component.ts";
import type { ComponentKind } from "../engine/component-kind.ts";
import { isUuid } from "../engine/uuid.ts";
import type { ComponentStore } from "../storage/component-store.ts";
import type { Catalogue } from "./catalogue.ts";

export interface WantedDefinition {
  domain: string;
  kind: ComponentKind;
  /** Record id or key. */
  instance: string;
  version?: string | undefined;
}

/** A definition by record id or key; the version is exact, partial, or the latest. */
export async function findDefinition(
  ports: { catalogue: Catalogue; components: ComponentStore },
  wanted: WantedDefinition,
): Promise<Component | undefined> {
  const { domain, kind, instance, version } = wanted;
  let key = instance;
  if (isUuid(instance)) {
    const address = await ports.components.findAddress(instance);
    if (address !== undefined && address.domain === domain && address.kind === kind) {
      key = address.key;
    }
  }
  const found = await ports.catalogue.find({ domain, kind, key }, version);
  // Not from the catalogue's memory: tags and audit fields belong to the record, and change with
  // every further version, on any node.
  return found === undefined ? undefined : ports.components.find(found.componentId, found.version);
}
