/**
 * Component versions: SemVer, with the public system's package suffix
 * `MAJOR.MINOR.PATCH-pkg.PKG_VERSION+PKG_NAME`.
 *
 * SemVer decides the order (a plain `1.0.0` outranks every `1.0.0-pkg.*`; pre-releases count), and
 * build metadata only breaks ties, so that the order is total and every node picks the same version.
 */
import semver from "semver";

export const maxVersionLength = 180;

export const isVersion = (text: string): boolean =>
  text.length <= maxVersionLength && semver.valid(text) !== null && /^\d/.test(text);

/** Negative when `a` comes before `b`. Both must be versions. */
export const compareVersions = (a: string, b: string): number => semver.compareBuild(a, b);

/**
 * The version that `wanted` names among those that exist:
 *
 * nothing, `latest`  the highest
 * `1`, `1.2`         the highest with that start
 * `1.2.3`            itself; else the highest package version `1.2.3-pkg.*`, else a build `1.2.3+*`
 * a full version     itself, to the letter; without its `+build` also the highest build of it
 */
export function resolveVersion(
  existing: Iterable<string>,
  wanted: string | undefined,
): string | undefined {
  const versions = [...existing];
  if (wanted === undefined || wanted === "" || wanted.toLowerCase() === "latest") {
    return highest(versions);
  }
  if (versions.includes(wanted)) return wanted;

  const partial = /^(\d+)(?:\.(\d+))?$/.exec(wanted);
  if (partial !== null) {
    const start = `${wanted}.`;
    return highest(versions.filter((version) => version.startsWith(start)));
  }
  if (!isVersion(wanted) || wanted.includes("+")) return undefined;
  const builds = versions.filter((version) => version.startsWith(`${wanted}+`));
  if (wanted.includes("-")) return highest(builds);
  const packages = versions.filter((version) => version.startsWith(`${wanted}-pkg.`));
  return highest(packages) ?? highest(builds);
}

function highest(versions: string[]): string | undefined {
  let best: string | undefined;
  for (const version of versions) {
    if (best === undefined || compareVersions(version, best) > 0) best = version;
  }
  return best;
}
