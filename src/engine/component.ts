import type { ComponentKind } from "./component-kind.ts";
import { compareVersions, resolveVersion } from "./version.ts";

/** Where a component lives; versions hang below it. */
export interface ComponentAddress {
  domain: string;
  kind: ComponentKind;
  key: string;
}

/** One published version, without its definition: enough to resolve references in memory. */
export interface ComponentVersion extends ComponentAddress {
  componentId: string;
  version: string;
  flowVersion: string;
  revision: number;
}

/** One published version with its definition, as authored. */
export interface Component extends ComponentVersion {
  id: string;
  tags: string[];
  attributes: Record<string, unknown>;
  /** The definition's text as it was sent: what readers get back, number for number. */
  attributesText: string;
  entityEtag: string;
  createdAt: Date;
  createdBy: string | undefined;
  createdByBehalfOf: string | undefined;
  modifiedAt: Date;
  modifiedBy: string | undefined;
  modifiedByBehalfOf: string | undefined;
}

/** Every version of every component, by address. Plain memory, no I/O: `runtime/` keeps it true. */
export interface ComponentIndex {
  add(version: ComponentVersion): void;
  resolve(address: ComponentAddress, wanted?: string): ComponentVersion | undefined;
  versions(address: ComponentAddress): readonly ComponentVersion[];
  /** The latest version of every component of a kind, in no order. The same list until one is added. */
  latest(domain: string, kind: ComponentKind): readonly ComponentVersion[];
  readonly size: number;
}

// Keys and domains have no slash (their alphabets are checked at publish).
const addressText = (a: ComponentAddress) => `${a.domain}/${a.kind}/${a.key}`;

const none: readonly ComponentVersion[] = [];

export function createComponentIndex(): ComponentIndex {
  const byAddress = new Map<string, Map<string, ComponentVersion>>();
  const latest = new Map<string, ComponentVersion>();
  /** By domain and kind, then by key. */
  const ofKind = new Map<string, Map<string, ComponentVersion>>();
  const lists = new Map<string, readonly ComponentVersion[]>();
  let size = 0;

  return {
    add(version) {
      const address = addressText(version);
      let versions = byAddress.get(address);
      if (versions === undefined) byAddress.set(address, (versions = new Map()));
      if (!versions.has(version.version)) size += 1;
      versions.set(version.version, version);
      const best = latest.get(address);
      if (best === undefined || compareVersions(version.version, best.version) >= 0) {
        latest.set(address, version);
        const group = `${version.domain}/${version.kind}`;
        const members = ofKind.get(group) ?? new Map<string, ComponentVersion>();
        ofKind.set(group, members.set(version.key, version));
        lists.delete(group);
      }
    },
    resolve(address, wanted) {
      const text = addressText(address);
      if (wanted === undefined || wanted === "") return latest.get(text);
      const versions = byAddress.get(text);
      if (versions === undefined) return undefined;
      const found = versions.get(wanted);
      if (found !== undefined) return found;
      const resolved = resolveVersion(versions.keys(), wanted);
      return resolved === undefined ? undefined : versions.get(resolved);
    },
    versions: (address) => [...(byAddress.get(addressText(address))?.values() ?? [])],
    latest(domain, kind) {
      const group = `${domain}/${kind}`;
      let list = lists.get(group);
      if (list === undefined) {
        const members = ofKind.get(group);
        if (members === undefined) return none;
        lists.set(group, (list = [...members.values()]));
      }
      return list;
    },
    get size() {
      return size;
    },
  };
}
