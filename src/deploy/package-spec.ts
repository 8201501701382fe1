/**
 * Which package a request means. A boundary: given as they come, names and versions such as
 * `file:/etc`, `git+https://…`, `a/b` or `npm:other@1` would mean something else than a package of
 * the registry.
 */
import npa from "npm-package-arg";

export interface PackageSpec {
  name: string;
  /** As the registry's paths have it: `@scope%2fname`. */
  escapedName: string;
  /** An exact version, a range or a dist-tag. */
  wanted: string;
}

const longest = 214;
/** A range of a million parts, asked of thousands of versions, would take hours. */
const longestVersion = 256;

export function packageSpec(
  name: string,
  version: string,
): { spec: PackageSpec } | { field: "packageName" | "version"; message: string } {
  if (!isPackageName(name)) {
    return {
      field: "packageName",
      message: "must be the name of a package in the registry: name or @scope/name",
    };
  }
  const spec = version.length > longestVersion ? undefined : resolved(name, version);
  if (spec === undefined) {
    return { field: "version", message: "must be a version, a range or a tag of the registry" };
  }
  return { spec };
}

function isPackageName(name: string): boolean {
  if (name.length > longest || !/^(?:@[^/@\s]+\/)?[^/@\s]+$/.test(name)) return false;
  return resolved(name, "latest") !== undefined;
}

function resolved(name: string, wanted: string): PackageSpec | undefined {
  try {
    const found = npa.resolve(name, wanted);
    const isOfRegistry = ["version", "range", "tag"].includes(found.type);
    if (!isOfRegistry || !found.registry || found.name !== name) return undefined;
    if (found.escapedName === null) return undefined;
    return { name, escapedName: found.escapedName, wanted: wanted.trim() };
  } catch {
    return undefined; // npm-package-arg throws at what it cannot read
  }
}
