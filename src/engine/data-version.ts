/**
 * Versions of an instance's data. The first is 1.0.0; each further one follows the strategy of the
 * transition (or state) that brought it. A `-pkg.…` or `+…` suffix is kept, other pre-release text
 * falls away on a bump.
 */

import type { VersionStrategy } from "./definition/enumerations.ts";

export const firstDataVersion = "1.0.0";

const shape = /^(\d+)\.(\d+)\.(\d+)(-[^+]*)?(\+.*)?$/;

export function nextDataVersion(current: string | undefined, strategy: VersionStrategy): string {
  if (current === undefined) return firstDataVersion;
  const match = shape.exec(current);
  if (match === null || strategy === "none") return current;
  const [major, minor, patch] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const numbers = {
    major: `${major + 1}.0.0`,
    minor: `${major}.${minor + 1}.0`,
    patch: `${major}.${minor}.${patch + 1}`,
  }[strategy];
  const suffix = match[4]?.startsWith("-pkg.") === true ? match[4] : "";
  return `${numbers}${suffix}${match[5] ?? ""}`;
}
