/** The version of a package that a request means, as npm chooses it (pure). */
import semver from "semver";

export interface Versions {
  tags: Readonly<Record<string, string>>;
  /** Every version there is. */
  versions: readonly string[];
  /** Those that their authors have warned of; taken only when nothing else fits. */
  deprecated?: ReadonlySet<string>;
}

/** An exact version, a tag, or the best of a range: `latest` if it fits, else the highest. */
export function pickVersion({ tags, versions, deprecated }: Versions, wanted: string) {
  const exact = semver.valid(wanted, { loose: true });
  if (exact !== null) return versions.find((version) => version === exact);
  if (Object.hasOwn(tags, wanted)) return versions.find((version) => version === tags[wanted]);
  const range = semver.validRange(wanted, { loose: true });
  if (range === null) return undefined;
  const latest = Object.hasOwn(tags, "latest") ? tags["latest"] : undefined;
  const current = versions.filter((version) => deprecated?.has(version) !== true);
  for (const candidates of [current, versions]) {
    if (latest !== undefined && candidates.includes(latest) && semver.satisfies(latest, range)) {
      return latest;
    }
    const best = semver.maxSatisfying([...candidates], range);
    if (best !== null) return best;
  }
  return undefined;
}
